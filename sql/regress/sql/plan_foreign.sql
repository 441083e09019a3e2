-- needs file_fdw
-- Foreign tables: a join stays native.
SET gpujoin.enable_aggregates = off;
SET search_path = plan;
SET gpujoin.debug_force = on;
SET gpujoin.explain_rejected = on;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE a (id int);
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE away (id int) SERVER files OPTIONS (filename '/dev/null');
CREATE TABLE mixed (id int) PARTITION BY LIST (id);
CREATE FOREIGN TABLE mixed_away PARTITION OF mixed FOR VALUES IN (1) SERVER files OPTIONS (filename '/dev/null');

EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN away USING (id);
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN mixed USING (id);

DROP TABLE a;
DROP TABLE mixed;
DROP FOREIGN TABLE away;
DROP SERVER files;
DROP EXTENSION file_fdw;
