-- What a block would get wrong, or could not execute, without a rule against it.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

-- min and max from an index: making that plan turns every aggregate of the level into a parameter
SELECT block('SELECT min(id), max(id), max(id) - min(id) FROM dim');
SELECT block('SELECT min(id), max(id), count(*) FROM dim');
-- core replaces the target of a single table, and drops the paths of a partitioned one
CREATE TABLE parted (id int, g int, day date, v numeric(8,2)) PARTITION BY RANGE (id);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (300);
CREATE TABLE parted2 PARTITION OF parted FOR VALUES FROM (300) TO (5000);
INSERT INTO parted SELECT g, g % 7, date '2020-01-01' + g, g * 1.5 FROM generate_series(1, 2000) g;
CREATE TABLE indexed AS SELECT g AS id, g % 7 AS g, date '2020-01-01' + g % 90 AS day FROM generate_series(1, 2000) g;
CREATE INDEX ON indexed (day);
ANALYZE parted, indexed;
EXPLAIN (COSTS OFF) SELECT extract(month FROM day), g + 1, sum(v) FROM parted GROUP BY 1, 2;
SELECT block('SELECT extract(month FROM day), g + 1, sum(v), count(*) FROM parted GROUP BY 1, 2');
SET enable_partitionwise_aggregate = on;
SELECT block('SELECT id, sum(v), count(*) FROM parted GROUP BY 1');
RESET enable_partitionwise_aggregate;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT extract(month FROM day), g + 1, sum(id) FROM indexed WHERE day = '2020-02-02' GROUP BY 1, 2;
SELECT block('SELECT extract(month FROM day), g + 1, sum(id) FROM indexed WHERE day = ''2020-02-02'' GROUP BY 1, 2');
SELECT block('SELECT DISTINCT extract(month FROM day), g + 1 FROM indexed WHERE day < ''2020-02-02''');
RESET enable_seqscan;
DROP TABLE parted, indexed;
-- conditions that only PostgreSQL evaluates, below an aggregation, DISTINCT or an outer join
SELECT block('SELECT count(*), sum(f.id) FROM dim d LEFT JOIN fact f ON f.dim = d.id AND f.id < 100 WHERE f.id IS NULL OR sqrt(f.id) > d.id');
SELECT block('SELECT count(*) FROM dim e LEFT JOIN (dim d LEFT JOIN fact f ON f.dim = d.id) ON e.id = d.id AND sqrt(coalesce(f.id, 1)) > 4');
SELECT block('SELECT DISTINCT d.label FROM dim d JOIN fact f ON f.dim = d.id AND sqrt(f.id) > d.id');
SELECT block('SELECT count(*) FROM dim e LEFT JOIN (dim d JOIN fact f ON f.dim = d.id AND sqrt(f.id) > d.id) ON e.id = d.id');
-- columns of the side that an anti join drops
SELECT block('SELECT count(f.id), sum(f.id), max(d.price) FROM dim d LEFT JOIN fact f ON f.dim = d.id WHERE f.dim IS NULL');
SELECT block('SELECT DISTINCT f.grp, d.label FROM dim d LEFT JOIN fact f ON f.dim = d.id WHERE f.dim IS NULL');
-- CASE of mixed scales: the number of decimals is that of the rows that were added
SELECT block('SELECT grp, sum(CASE WHEN id % 50 = 0 THEN amount * rate ELSE 0 END), variance(CASE WHEN id % 700 = 0 THEN rate ELSE amount END) FROM fact WHERE id <= 5000 GROUP BY grp');
-- empty inputs, and the group of NULLs
SELECT block('SELECT count(*), count(small), sum(small), avg(amount), max(day), bool_or(flag), stddev(id), var_pop(amount), count(DISTINCT grp) FROM nothing');
SELECT block('SELECT grp, count(*) FROM nothing GROUP BY grp');
SELECT block('SELECT DISTINCT small, grp FROM fact WHERE small IS NULL OR grp IS NULL');
-- statistics of a parallel block come from memory that the Gather has by then released
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE FUNCTION statistics(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query
    LOOP
        IF line ~ 'Offload|Provider|Aggregate:' THEN
            RETURN NEXT regexp_replace(trim(line), ' \(actual .*|[0-9]+ (bytes|kB)|(?<=Aggregate: )[a-z ]+', '', 'g');
        END IF;
    END LOOP;
END $$;
SELECT statistics('SELECT grp, count(*), sum(id) FROM fact WHERE id <= 5000 GROUP BY grp');
SET parallel_leader_participation = off;
SELECT statistics('SELECT grp, count(*), sum(id) FROM fact WHERE id <= 5000 GROUP BY grp');
DROP FUNCTION statistics;
RESET parallel_leader_participation;
-- core frees the path of a subquery when it adds a Gather above another one
CREATE TABLE part1 WITH (parallel_workers = 1) AS SELECT g AS id, g % 7 AS grp, g AS v FROM generate_series(1, 20000) g;
CREATE TABLE part2 WITH (parallel_workers = 2) AS SELECT g AS id, g % 7 AS grp, g AS v FROM generate_series(1, 30000) g;
CREATE TABLE part3 WITH (parallel_workers = 3) AS SELECT g AS id, g % 7 AS grp, g AS v FROM generate_series(1, 40000) g;
ANALYZE part1, part2, part3;
SET max_parallel_workers_per_gather = 4;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpujoin.verify = on;
EXPLAIN (COSTS OFF) SELECT grp, count(*), sum(v) FROM (SELECT grp, v FROM part1 WHERE v > 5 UNION ALL SELECT grp, v FROM part2 WHERE v > 6 UNION ALL SELECT grp, v FROM part3) s WHERE grp > 1 GROUP BY grp;
SELECT grp, count(*), sum(v) FROM (SELECT grp, v FROM part1 WHERE v > 5 UNION ALL SELECT grp, v FROM part2 WHERE v > 6 UNION ALL SELECT grp, v FROM part3) s WHERE grp > 1 GROUP BY grp ORDER BY grp;
RESET gpujoin.verify;
SELECT block('SELECT grp, count(*), sum(v) FROM (SELECT grp, v FROM part1 WHERE v > 5 UNION ALL SELECT grp, v FROM part2 WHERE v > 6 UNION ALL SELECT grp, v FROM part3) s WHERE grp > 1 GROUP BY grp');
DROP TABLE part1, part2, part3;
