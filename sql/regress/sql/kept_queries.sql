-- Queries over tables whose columns the daemon keeps.
SET search_path = kept;
SET synchronous_commit = on;
SET max_parallel_workers_per_gather = 0;
VACUUM fact, dim;
SELECT leaf, rows, fraction FROM gpujoin.keep('fact') UNION ALL SELECT leaf, rows, fraction FROM gpujoin.keep('dim');

-- all types return from what is kept, with NULLs
SELECT kept.same('SELECT * FROM fact f JOIN dim d ON f.dim = d.id');
SELECT kept.same('SELECT * FROM fact f JOIN dim d ON f.dim = d.id');
-- conditions of the table, which the daemon evaluates
SELECT cond, kept.same('SELECT f.id, f.amount, d.label FROM fact f JOIN dim d ON f.dim = d.id WHERE ' || cond)
FROM unnest(ARRAY[
    'f.id < 1000', 'f.amount BETWEEN 100 AND 200.5', 'f.day >= ''2021-01-01''', 'f.stamp < ''2020-06-01 UTC''', 'f.flag', 'NOT f.flag', 'f.flag IS NULL',
    'f.note IS NULL', 'f.note = ''note 5''', 'f.note LIKE ''note 1%''', 'f.note IN (''note 1'', ''note 2'')', 'f.dim IS NOT NULL AND f.dim <> 3',
    'f.code = ''A''', 'f.id < 100 OR f.note = ''note 77''', 'f.doc IS NOT NULL', 'f.f > 1000', 'f.free > 100']) AS cond;
-- a second time, with the columns in the forms that these conditions compare
CALL settle();
SELECT cond, kept.same('SELECT f.id, f.amount, d.label FROM fact f JOIN dim d ON f.dim = d.id WHERE ' || cond)
FROM unnest(ARRAY['f.code = ''A''', 'f.f > 1000', 'f.free > 100', 'f.note <> ''x''']) AS cond;

-- aggregates, outer, semi and anti joins, a table twice, subqueries
SELECT kept.same('SELECT d.label, count(*), sum(f.amount), avg(f.id), min(f.day), count(DISTINCT f.note) FROM fact f JOIN dim d ON f.dim = d.id GROUP BY d.label');
SELECT kept.same('SELECT count(*), sum(amount) FROM fact WHERE id % 2 = 0');
SELECT kept.same('SELECT d.id, f.id FROM dim d LEFT JOIN fact f ON f.dim = d.id AND f.day < ''2020-02-01''');
SELECT kept.same('SELECT f.id FROM fact f WHERE EXISTS (SELECT FROM dim d WHERE d.id = f.dim AND d.label > ''label 3'')');
SELECT kept.same('SELECT f.id FROM fact f WHERE NOT EXISTS (SELECT FROM dim d WHERE d.id = f.dim)');
SELECT kept.same('SELECT a.id, b.note FROM fact a JOIN fact b ON a.id = b.id WHERE a.day < ''2020-03-01''');
SELECT kept.same('SELECT f.id FROM fact f JOIN dim d ON f.dim = d.id WHERE f.amount > (SELECT avg(amount) FROM fact)');
SELECT kept.same('SELECT d.id, (SELECT count(*) FROM fact f JOIN dim e ON f.dim = e.id WHERE f.id < d.id * 10) FROM dim d WHERE d.id < 5');

-- a table of which some pages are kept: their rows lie between those that are fed
UPDATE fact SET note = 'x' WHERE id % 997 = 0;
SELECT kept.same('SELECT f.id, f.note, d.label FROM fact f JOIN dim d ON f.dim = d.id WHERE f.note <> ''note 5''');
SELECT kept.same('SELECT f.* FROM fact f JOIN dim d ON f.dim = d.id');

-- parameters in conditions
SET gpujoin.debug_force = on;
SET gpujoin.min_rows = 0;
SET gpujoin.keep = always;
PREPARE p(int, numeric, text, date) AS
    SELECT count(*), sum(f.amount) FROM fact f JOIN dim d ON f.dim = d.id WHERE f.id > $1 AND f.amount < $2 AND f.note <> $3 AND f.day > $4;
SET plan_cache_mode = force_generic_plan;
EXECUTE p(100, 5000, 'note 3', '2020-02-01');
EXECUTE p(15000, 25000.5, 'note 4', '2021-02-01');
EXECUTE p(NULL, 5000, 'note 3', '2020-02-01');
EXECUTE p(100, 'NaN', 'note 3', '2020-02-01');
SET gpujoin.enabled = off;
EXECUTE p(100, 5000, 'note 3', '2020-02-01');
EXECUTE p(15000, 25000.5, 'note 4', '2021-02-01');
EXECUTE p(NULL, 5000, 'note 3', '2020-02-01');
EXECUTE p(100, 'NaN', 'note 3', '2020-02-01');
RESET gpujoin.enabled;
-- the plan outlives what is kept
SELECT gpujoin.forget('fact') > 0 AS forgotten;
EXECUTE p(100, 5000, 'note 3', '2020-02-01');
CALL settle();
VACUUM fact;
EXECUTE p(100, 5000, 'note 3', '2020-02-01');
UPDATE fact SET amount = 0 WHERE id = 150;
EXECUTE p(100, 5000, 'note 3', '2020-02-01');
SET gpujoin.keep = off;
EXECUTE p(100, 5000, 'note 3', '2020-02-01');
SET gpujoin.enabled = off;
EXECUTE p(100, 5000, 'note 3', '2020-02-01');
RESET gpujoin.enabled;
RESET gpujoin.keep;
DEALLOCATE p;
RESET plan_cache_mode;

-- row-level security: a role sees its rows, whatever is kept
VACUUM fact;
SELECT fraction > 0.9 AS kept FROM gpujoin.keep('fact', '{id,dim,note}');
CREATE ROLE kept_few;
GRANT USAGE ON SCHEMA kept TO kept_few;
GRANT SELECT ON fact, dim TO kept_few;
ALTER TABLE fact ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON fact USING (id < 100);
SELECT count(*) FROM fact f JOIN dim d ON f.dim = d.id;
SET ROLE kept_few;
SELECT count(*), max(f.id) FROM fact f JOIN dim d ON f.dim = d.id;
RESET ROLE;
ALTER TABLE fact DISABLE ROW LEVEL SECURITY;
DROP OWNED BY kept_few;
DROP ROLE kept_few;
RESET gpujoin.debug_force;
RESET gpujoin.min_rows;

-- long values are fed, and so are the pages that have them
CREATE TABLE kept.long (id int, dim int, x text) WITH (autovacuum_enabled = off);
ALTER TABLE kept.long ALTER x SET STORAGE external;
INSERT INTO kept.long SELECT g, g % 60, repeat(chr(65 + g % 26), CASE WHEN g % 500 = 0 THEN 100000 ELSE 20 END) FROM generate_series(1, 5000) g;
VACUUM ANALYZE kept.long;
SELECT leaf, rows, fraction < 1 AS in_part FROM gpujoin.keep('long');
SELECT kept.same('SELECT l.id, l.x, d.label FROM long l JOIN dim d ON l.dim = d.id');
SELECT kept.same('SELECT l.id, l.x, d.label FROM long l JOIN dim d ON l.id = d.id');
SELECT leaf, rows, differences FROM gpujoin.check_kept('long');
DROP TABLE kept.long;

-- several participants
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT gpujoin.forget('fact') > 0 AS forgotten;
SELECT leaf, rows, fraction FROM gpujoin.keep('fact');
SELECT kept.same('SELECT f.* FROM fact f JOIN dim d ON f.dim = d.id WHERE f.id > 500');
SELECT kept.same('SELECT d.label, count(*), sum(f.amount) FROM fact f JOIN dim d ON f.dim = d.id GROUP BY d.label');
UPDATE fact SET note = 'y' WHERE id % 500 = 0;
SELECT kept.same('SELECT f.* FROM fact f JOIN dim d ON f.dim = d.id WHERE f.id > 500');
SELECT leaf, rows, kept_blocks > 0 AS kept, differences FROM gpujoin.check_kept('fact');

RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA kept CASCADE;
