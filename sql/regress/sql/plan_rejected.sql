-- Why a join stays native, one notice a joinrel.
SET search_path = plan;
SET gpujoin.force = on;
SET gpujoin.explain_rejected = on;
SET max_parallel_workers_per_gather = 0;

CREATE TYPE plan.row AS (x int);
CREATE TABLE a (id int, v int, r plan.row);
CREATE TABLE b (id int, v int);
CREATE VIEW limited AS SELECT * FROM b LIMIT 5;
CREATE FUNCTION unsteady(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE away (id int) SERVER files OPTIONS (filename '/dev/null');
CREATE TABLE mixed (id int) PARTITION BY LIST (id);
CREATE FOREIGN TABLE mixed_away PARTITION OF mixed FOR VALUES IN (1) SERVER files OPTIONS (filename '/dev/null');

-- accepted: no notice
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id);
-- command
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id) FOR UPDATE;
EXPLAIN (COSTS OFF) DELETE FROM a USING b WHERE a.id = b.id;
EXPLAIN (COSTS OFF) UPDATE a SET v = 1 FROM b WHERE a.id = b.id;
EXPLAIN (COSTS OFF) MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN DELETE;
-- join_type
EXPLAIN (COSTS OFF) SELECT 1 FROM a LEFT JOIN b USING (id);
EXPLAIN (COSTS OFF) SELECT 1 FROM a FULL JOIN b USING (id);
EXPLAIN (COSTS OFF) SELECT 1 FROM a WHERE EXISTS (SELECT FROM b WHERE a.id = b.id);
EXPLAIN (COSTS OFF) SELECT 1 FROM a WHERE NOT EXISTS (SELECT FROM b WHERE a.id = b.id);
-- lateral
EXPLAIN (COSTS OFF) SELECT s.av FROM a LEFT JOIN LATERAL (SELECT a.v + 1 AS av, b.id FROM b JOIN b b2 USING (id)) s
    ON s.id = a.id;
-- size
SET gpujoin.force = off;
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id);
SET gpujoin.force = on;
-- not_a_table
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN limited USING (id);
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN generate_series(1, 3) AS f(id) USING (id);
EXPLAIN (COSTS OFF) WITH w AS MATERIALIZED (SELECT id FROM b) SELECT 1 FROM a JOIN w USING (id);
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN (VALUES (1), (2)) AS f(id) USING (id);
-- foreign
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN away USING (id);
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN mixed USING (id);
-- tablesample
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b TABLESAMPLE BERNOULLI (50) USING (id);
-- expression
EXPLAIN (COSTS OFF) SELECT 1 FROM a LEFT JOIN (SELECT b.id, coalesce(b.v, 1) AS c FROM b JOIN a AS a2 USING (id)) s
    ON a.id = s.id AND a.v = 1 WHERE s.c IS NULL;
-- system_column, whole_row, column_type
EXPLAIN (COSTS OFF) SELECT a.ctid FROM a JOIN b USING (id);
EXPLAIN (COSTS OFF) SELECT a.tableoid FROM a JOIN b USING (id);
EXPLAIN (COSTS OFF) SELECT a FROM a JOIN b USING (id);
EXPLAIN (COSTS OFF) SELECT a.r FROM a JOIN b USING (id);
-- volatile
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id) WHERE unsteady(a.v) = 1;
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b ON a.id = b.id AND unsteady(a.v) = b.v;
-- ... but above the join it runs once a row, natively or not
EXPLAIN (COSTS OFF) SELECT unsteady(a.v) FROM a JOIN b USING (id);
-- daemon
SET gpujoin.socket = '/nonexistent/socket';
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id);
RESET gpujoin.socket;
-- side: an inner join whose other side is an outer join
EXPLAIN (COSTS OFF) SELECT 1 FROM (a LEFT JOIN b ON a.id = b.id) JOIN b b2 ON b2.id = a.v;
-- no_key
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b ON a.id < b.id;
EXPLAIN (COSTS OFF) SELECT 1 FROM a, b;
-- too_large: more inputs than a job may have
SET geqo_seed = 0.1;
SET join_collapse_limit = 100;
SET client_min_messages = warning;
SELECT max((SELECT count(*) FROM regexp_matches(j, ' page', 'g'))) <= 64 AS bounded
FROM gpujoins((SELECT 'SELECT 1 FROM b b0 ' || string_agg(format('JOIN b b%s USING (id)', g), ' ')
               FROM generate_series(1, 69) g)) j;
RESET client_min_messages;
RESET join_collapse_limit;
-- budget: more rows than the daemon could hold
BEGIN;
INSERT INTO a SELECT 1; INSERT INTO b SELECT 1;
UPDATE pg_class SET reltuples = 1e15, relpages = 1 WHERE oid IN ('a'::regclass, 'b'::regclass);
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id);
ROLLBACK;
-- cost
SET gpujoin.force = off;
SET gpujoin.min_rows = 0;
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id);
-- off: silence
SET gpujoin.enabled = off;
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id);

DROP VIEW limited;
DROP TABLE mixed;
DROP FOREIGN TABLE away;
DROP SERVER files;
DROP EXTENSION file_fdw;
DROP TABLE a, b;
