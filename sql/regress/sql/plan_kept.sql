-- Which inputs of a job the daemon may keep, and what it needs for that.
SET search_path = plan;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
\a

CREATE TYPE plan.state AS ENUM ('new', 'old');
CREATE TABLE t (
    id int, n int, s int2, d date, ts timestamp, tz timestamptz, m numeric(10,2), u numeric, f4 float4, f8 float8,
    b bool, e plan.state, o oid, h "char", x text, v varchar(20), c char(5), j jsonb, i int NOT NULL);
INSERT INTO t SELECT g, g, g, date '2000-01-01' + g, timestamp '2000-01-01' + g * interval '1 h', timestamptz '2000-01-01 UTC' + g * interval '1 h',
    g, g, g, g, g % 2 = 0, 'new', g, 'a', g, g, g, '{}', g FROM generate_series(1, 100) g;
CREATE TABLE r (id int, n int);
INSERT INTO r SELECT g, g FROM generate_series(1, 100) g;
ANALYZE t, r;

-- how conditions travel
SELECT cond, hidden, CASE WHEN cond LIKE 't.e %' THEN regexp_replace(condition, '\d{5,}', 'oid', 'g') ELSE condition END
FROM unnest(ARRAY[
    'true', 't.id > 1', 't.n > 1', 't.n IS NULL', 't.j IS NOT NULL', 't.n > 1 AND t.n < t.id', 't.s BETWEEN 1 AND 3 OR t.s IN (7, 9)',
    't.d < ''2000-03-01''', 't.d < timestamp ''2000-03-01''', 't.d >= timestamp ''2000-03-01 12:00''', 'timestamp ''2000-03-01 12:00'' = t.d',
    't.d <> timestamp ''2000-03-01 12:00''', 't.d > timestamp ''-infinity''', 't.ts < ''2000-03-01''', 't.tz < ''2000-03-01 00:00:00 UTC''',
    't.m < 5', 't.m < 5.005', '-5.005 = t.m', 't.m IN (1, 2.5)', 't.n > 5.5', 't.m IS NULL', 't.f8 < 0', 't.f4 = 1.5', '''NaN'' = t.f8', 't.f4 <= t.f8',
    't.b', 'NOT t.b', 't.b IS NOT TRUE', 't.e = ''old''', 't.e IN (''new'', ''old'')', 't.o <> 4294967295', 't.h = ''b''',
    't.x = ''a''', 't.x <> ''a''', 't.x LIKE ''a_%''', 't.v IN (''a'', ''b'')', 't.c = ''a''', 't.c LIKE ''a %''', 't.x COLLATE "C" < ''b''',
    'CASE WHEN t.b THEN t.n ELSE 3 END = 3', 'coalesce(t.n, 0) > 5', 't.n > (SELECT max(n) FROM r)',
    -- these are fed
    't.n + t.s > 5', 't.n + 1 > (SELECT max(n) FROM r)', 't.e < ''old''', 't.u > 5', 't.x ~ ''a''', 'lower(t.x) = ''a''',
    't.j @> ''{}''', 't.f8 * 2 > 1', 't.n / t.s = 1']) WITH ORDINALITY AS c(cond, k),
    kept('SELECT t.id, r.n FROM t JOIN r USING (id) WHERE ' || cond)
WHERE input = 'plan.t' ORDER BY k;

-- below an aggregate, a condition may fail
SELECT * FROM kept('SELECT count(*) FROM t JOIN r USING (id) WHERE t.n / t.s = 1 AND r.n > 2');
SELECT * FROM kept('SELECT count(*) FROM t JOIN r USING (id) WHERE extract(year FROM t.d) = 2000');

-- columns that are fed in a form that the condition reads are not hidden
SELECT * FROM kept('SELECT t.c, t.m, t.f8 FROM t JOIN r USING (id) WHERE t.c = ''a'' AND t.m > 1 AND t.f8 IS NOT NULL AND t.i > 1 AND r.n > 2');

-- a table alone, and one that is read twice
SELECT * FROM kept('SELECT n % 2, count(*) FROM r WHERE id > 3 GROUP BY 1');
SELECT * FROM kept('SELECT a.n FROM r a JOIN r b USING (id) WHERE a.n < 7');

-- kinds of tables
CREATE TEMP TABLE temporary AS SELECT * FROM r;
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM r;
CREATE MATERIALIZED VIEW materialized AS SELECT * FROM r;
CREATE TABLE divided (id int, n int) PARTITION BY RANGE (id);
CREATE TABLE divided_1 PARTITION OF divided FOR VALUES FROM (0) TO (50);
CREATE TABLE divided_2 PARTITION OF divided FOR VALUES FROM (50) TO (200);
INSERT INTO divided SELECT * FROM r;
ANALYZE temporary, unlogged, materialized, divided;
SELECT kind, hidden
FROM unnest(ARRAY['temporary', 'unlogged', 'materialized', 'divided', 'divided_1']) WITH ORDINALITY AS c(kind, k),
    kept('SELECT t.i FROM t JOIN ' || kind || ' o USING (id) WHERE o.n > 1')
WHERE input <> 'plan.t' ORDER BY k;
SELECT input, hidden FROM kept('SELECT a.relname FROM pg_class a JOIN pg_attribute b ON a.oid = b.attrelid');

-- row security: the executor evaluates the conditions
CREATE ROLE kept_user;
GRANT USAGE ON SCHEMA plan TO kept_user;
GRANT SELECT ON t, r TO kept_user;
ALTER TABLE r ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON r USING (n < 50);
SET ROLE kept_user;
SELECT input, hidden FROM kept('SELECT t.i FROM t JOIN r USING (id) WHERE r.n > 1');
RESET ROLE;
ALTER TABLE r DISABLE ROW LEVEL SECURITY;

-- texts that may be too long
CREATE TABLE long (id int, x text, v varchar(20));
ALTER TABLE long ALTER x SET STORAGE external;
INSERT INTO long SELECT g, repeat('a', 5000), g FROM generate_series(1, 2) g;
ANALYZE long;
SELECT cond, hidden FROM unnest(ARRAY['x LIKE ''a%''', 'v LIKE ''a%''', 'v IS NULL']) WITH ORDINALITY AS c(cond, k),
    kept('SELECT r.n FROM long JOIN r USING (id) WHERE long.' || cond) WHERE input = 'plan.long' ORDER BY k;

-- values of parameters; the daemon cannot take NaN, and the feed can
SET plan_cache_mode = force_generic_plan;
PREPARE p(int, numeric, text) AS SELECT t.id, r.n FROM t JOIN r USING (id) WHERE t.n > $1 AND t.m < $2 AND t.x <> $3;
SELECT * FROM kept('EXECUTE p(1, 5, ''a'')');
EXECUTE p(1, 4, '3');
EXECUTE p(98, 'NaN', '3');
RESET plan_cache_mode;

SET gpujoin.keep = off;
SELECT * FROM kept('SELECT t.id, r.n FROM t JOIN r USING (id) WHERE t.n > 1');
RESET gpujoin.keep;

DROP OWNED BY kept_user;
DROP ROLE kept_user;
DROP MATERIALIZED VIEW materialized;
DROP TABLE t, r, temporary, unlogged, divided, long;
DROP TYPE plan.state;
\a
