-- Joins partition by partition. Before 19, PostgreSQL drops all other paths of such a join
-- at the top of a query; since then, the offloaded join competes with them.
SET gpujoin.enable_aggregates = off;
SET search_path = plan;
SET gpujoin.debug_force = on;
SET gpujoin.explain_rejected = on;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE parted (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
CREATE TABLE parted2 PARTITION OF parted FOR VALUES FROM (100) TO (1000);
INSERT INTO parted SELECT g, g % 7 FROM generate_series(1, 200) g;
ANALYZE parted;
SET enable_partitionwise_join = on;
EXPLAIN (COSTS OFF) SELECT p.v FROM parted p JOIN parted q USING (id);
SELECT sum(v), count(*) FROM (SELECT p.v FROM parted p JOIN parted q USING (id) OFFSET 0) s;
RESET enable_partitionwise_join;
DROP TABLE parted;
