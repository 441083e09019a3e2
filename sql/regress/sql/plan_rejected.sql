-- Why a join stays native, one notice a reason.
SET gpujoin.enable_aggregates = off;
SET search_path = plan;
SET gpujoin.debug_force = on;
SET gpujoin.explain_rejected = on;
SET max_parallel_workers_per_gather = 0;

CREATE TYPE plan.row AS (x int);
CREATE TABLE a (id int, v int, r plan.row);
CREATE TABLE b (id int, v int);
CREATE VIEW limited AS SELECT * FROM b LIMIT 5;
CREATE FUNCTION unsteady(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';

-- accepted: no notice
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id);
-- command
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id) FOR UPDATE;
EXPLAIN (COSTS OFF) DELETE FROM a USING b WHERE a.id = b.id;
EXPLAIN (COSTS OFF) UPDATE a SET v = 1 FROM b WHERE a.id = b.id;
EXPLAIN (COSTS OFF) MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN DELETE;
-- unique: the join of c and b, of which only distinct rows are joined
SET gpujoin.debug_force = off;
SET gpujoin.min_rows = 0;
CREATE TABLE c AS SELECT g AS id, g AS v FROM generate_series(1, 20000) g;
CREATE INDEX ON c (id);
CREATE TABLE d AS SELECT g AS id, g AS v FROM generate_series(1, 10) g;
CREATE TABLE e AS SELECT g % 10 AS id, g % 10 AS v FROM generate_series(1, 100) g;
ANALYZE c, d, e;
EXPLAIN (COSTS OFF) SELECT c.v FROM c, d WHERE (c.id, d.id) IN (SELECT e.id, e.v FROM e);
DROP TABLE c, d, e;
RESET gpujoin.min_rows;
SET gpujoin.debug_force = on;
-- lateral
EXPLAIN (COSTS OFF) SELECT s.av FROM a LEFT JOIN LATERAL (SELECT a.v + 1 AS av, b.id FROM b JOIN b b2 USING (id)) s
    ON s.id = a.id;
-- size
SET gpujoin.debug_force = off;
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id);
SET gpujoin.debug_force = on;
-- subquery; block_inputs has those that are offloaded
CREATE INDEX b_id ON b (id);
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN (SELECT max(id) AS id FROM b) m USING (id);
DROP INDEX b_id;
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN limited USING (id);
-- recursive
EXPLAIN (COSTS OFF) WITH RECURSIVE r AS (SELECT 1 AS id UNION ALL SELECT a.v FROM r JOIN a USING (id)) SELECT 1 FROM r;
-- tablesample
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b TABLESAMPLE BERNOULLI (50) USING (id);
-- expression
EXPLAIN (COSTS OFF) SELECT 1 FROM a LEFT JOIN (SELECT b.id, coalesce(b.v, a2.v) AS c FROM b JOIN a AS a2 USING (id)) s
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
-- side: a part that cannot be offloaded
EXPLAIN (COSTS OFF) SELECT 1 FROM (a FULL JOIN b ON a.id = b.id AND a.v + b.v > 1) JOIN b b2 ON b2.id = b.id;
-- no_key
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b ON a.id < b.id;
EXPLAIN (COSTS OFF) SELECT 1 FROM a, b;
-- condition: an inner join's may be evaluated later, but not below the other side of an outer join
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b ON a.id = b.id AND a.v + b.v > 1;
EXPLAIN (COSTS OFF) SELECT 1 FROM a LEFT JOIN b ON a.id = b.id AND a.v + b.v > 1;
EXPLAIN (COSTS OFF) SELECT 1 FROM a FULL JOIN b ON a.id = b.id AND a.v + b.v > 1;
EXPLAIN (COSTS OFF) SELECT 1 FROM a WHERE EXISTS (SELECT FROM b WHERE a.id = b.id AND a.v + b.v > 1);
EXPLAIN (COSTS OFF) SELECT 1 FROM a WHERE NOT EXISTS (SELECT FROM b WHERE a.id = b.id AND a.v + b.v > 1);
EXPLAIN (COSTS OFF) SELECT 1 FROM b b1 LEFT JOIN (a JOIN b ON a.id = b.id AND a.v + b.v > 1) ON b1.id = a.id;
-- hidden: of an anti join
EXPLAIN (COSTS OFF) SELECT b.v FROM a LEFT JOIN b ON a.id = b.id WHERE b.id IS NULL;
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
-- job_memory: more than an administrator allows a join
SET gpujoin.max_job_memory = 0;
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id);
RESET gpujoin.max_job_memory;
-- too_large: more outputs than a row may have
DO $$
DECLARE
    columns text := (SELECT string_agg('c' || g || ' int', ', ') FROM generate_series(1, 840) g);
BEGIN
    EXECUTE 'CREATE TABLE wide1 (id int, ' || columns || ')';
    EXECUTE 'CREATE TABLE wide2 (id int, ' || columns || ')';
END $$;
INSERT INTO wide1 (id, c1, c840) VALUES (1, 2, 3);
INSERT INTO wide2 (id, c1, c840) VALUES (1, 20, 30);
SELECT gpujoins('SELECT ' || string_agg(format('x.c%1$s + y.c%1$s', g), ', ') || ' FROM wide1 x JOIN wide2 y USING (id)')
FROM generate_series(1, 840) g;
-- ... of which some are read by a condition only
SELECT format('SELECT sum(%s) AS s FROM wide1 x JOIN wide2 y ON x.id = y.id AND coalesce(%s, 1) > 0',
              string_agg(format('coalesce(x.c%1$s, 0)', g), ' + '),
              string_agg(format('x.c%1$s + y.c%1$s', g), ', ')) AS many_read
FROM generate_series(1, 840) g \gset
:many_read;
DROP TABLE wide1, wide2;
-- each reason once, with the number of joins
EXPLAIN (COSTS OFF) SELECT 1 FROM a a1 LEFT JOIN a a2 ON a1.id = a2.id AND a1.v + a2.v > 1 LEFT JOIN a a3 ON a1.id = a3.id AND a1.v + a3.v > 1
    LEFT JOIN a a4 ON a1.id = a4.id AND a1.v + a4.v > 1 LEFT JOIN a a5 ON a1.id = a5.id AND a1.v + a5.v > 1
    JOIN (SELECT id FROM b TABLESAMPLE SYSTEM (1)) AS f ON f.id = a1.id;
-- subqueries, CTEs and subplans are part of the query
EXPLAIN (COSTS OFF)
WITH w AS MATERIALIZED (SELECT a1.v FROM a a1 LEFT JOIN b b1 ON a1.id = b1.id AND a1.v + b1.v > 1)
SELECT (SELECT max(a2.v) FROM a a2 FULL JOIN b b2 ON a2.id = b2.id AND a2.v + b2.v > 1) FROM w
UNION ALL (SELECT a3.v FROM a a3 LEFT JOIN b b3 ON a3.id = b3.id AND a3.v + b3.v > 1 LIMIT 7);
-- planned inside the planner: a function's query has notices of its own
CREATE FUNCTION constant_join() RETURNS bigint LANGUAGE sql IMMUTABLE AS
    'SELECT count(*) FROM plan.a inner1 LEFT JOIN plan.b inner2 ON inner1.id = inner2.id AND inner1.v + inner2.v > 1';
EXPLAIN (COSTS OFF) SELECT 1 FROM a FULL JOIN b ON a.id = b.id AND a.v + b.v > 1 WHERE a.v = constant_join();
-- ... and neither has any where the setting is off for one of them
ALTER FUNCTION constant_join() SET gpujoin.explain_rejected = off;
EXPLAIN (COSTS OFF) SELECT 1 FROM a FULL JOIN b ON a.id = b.id AND a.v + b.v > 1 WHERE a.v = constant_join();
SET gpujoin.explain_rejected = off;
ALTER FUNCTION constant_join() SET gpujoin.explain_rejected = on;
EXPLAIN (COSTS OFF) SELECT 1 FROM a FULL JOIN b ON a.id = b.id AND a.v + b.v > 1 WHERE a.v = constant_join();
SET gpujoin.explain_rejected = on;
-- ... nor after an error while planning
CREATE FUNCTION failing() RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE ''no constant''; END';
EXPLAIN (COSTS OFF) SELECT 1 FROM a FULL JOIN b ON a.id = b.id AND a.v + b.v > 1 WHERE a.v = failing();
EXPLAIN (COSTS OFF) SELECT 1 FROM a FULL JOIN b USING (id);
-- a join that the planner drops from its plan has no notice
EXPLAIN (COSTS OFF) SELECT 1 FROM a a1 JOIN a a2 USING (id) JOIN a a3 ON a3.id < a2.id AND a3.id = a1.v;
-- cost; the costs themselves depend on the daemon's rates
SET gpujoin.debug_force = off;
SET gpujoin.min_rows = 0;
\set VERBOSITY terse
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id);
-- ... also where small tables make no parallel job, and the serial one lost
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id);
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;
-- plan: the job is cheaper as a whole, but not its first rows
SET gpujoin.startup_cost = 0;
EXPLAIN (COSTS OFF) SELECT 1 FROM fact JOIN dim_c ON fact.c = dim_c.id LIMIT 1;
-- ... nor are those of a cursor, whose LIMIT is the cause
EXPLAIN (COSTS OFF) DECLARE one CURSOR FOR SELECT 1 FROM fact JOIN dim_c ON fact.c = dim_c.id LIMIT 1;
\set VERBOSITY default
-- cursor: the first rows alone are the cause
SET cursor_tuple_fraction = 0.0001;
EXPLAIN (COSTS OFF) DECLARE first_rows CURSOR FOR SELECT 1 FROM fact JOIN dim_c ON fact.c = dim_c.id;
EXPLAIN (COSTS OFF) DECLARE first_rows CURSOR FOR SELECT 1 FROM fact JOIN dim_b ON fact.b = dim_b.id JOIN dim_c ON fact.c = dim_c.id;
-- ... also of a join that is read through a subquery
EXPLAIN (COSTS OFF) DECLARE first_rows CURSOR FOR SELECT s.id FROM (SELECT fact.id FROM fact JOIN dim_c ON fact.c = dim_c.id OFFSET 0) s WHERE s.id > 0;
-- ... and of an aggregation whose groups an index orders
CREATE TABLE grouped AS SELECT g / 10 AS k, g AS v FROM generate_series(1, 20000) g;
CREATE INDEX ON grouped (k);
VACUUM ANALYZE grouped;
SET gpujoin.enable_aggregates = on;
EXPLAIN (COSTS OFF) DECLARE first_rows CURSOR FOR SELECT k, sum(v) FROM grouped GROUP BY k;
SET cursor_tuple_fraction = 1;
EXPLAIN (COSTS OFF) DECLARE all_rows CURSOR FOR SELECT k, sum(v) FROM grouped GROUP BY k;
SET gpujoin.enable_aggregates = off;
DROP TABLE grouped;
EXPLAIN (COSTS OFF) DECLARE all_rows CURSOR FOR SELECT 1 FROM fact JOIN dim_c ON fact.c = dim_c.id;
RESET cursor_tuple_fraction;
RESET gpujoin.startup_cost;
-- off: silence
SET gpujoin.enabled = off;
EXPLAIN (COSTS OFF) SELECT 1 FROM a JOIN b USING (id);

DROP FUNCTION constant_join, failing;
DROP VIEW limited;
DROP TABLE a, b;
