-- Changes of tables whose columns the daemon keeps: each query returns what the native plan
-- returns. Pages that have changed are fed.
SET search_path = kept;
SET synchronous_commit = on;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE kept.t (id int, dim int, v int, note text) WITH (autovacuum_enabled = off);
INSERT INTO kept.t SELECT g, g % 50, g % 1000, 'note ' || g % 100 FROM generate_series(1, 20000) g;
ANALYZE t;
VACUUM t;

-- the first use captures, the second one is served
\set q 'SELECT t.id, t.v, t.note, d.label FROM t JOIN dim d ON t.dim = d.id WHERE t.v < 500'
\set sum 'SELECT d.label, count(*), sum(t.v), max(t.id) FROM t JOIN dim d ON t.dim = d.id WHERE t.note <> ''note 7'' GROUP BY d.label'
SELECT kept.same(:'q');
CALL settle();
SELECT kept.same(:'q');
SELECT kept.same(:'sum');
CALL settle();
SELECT kept.same(:'sum');

-- statements of their own
UPDATE t SET v = v + 1 WHERE id % 2000 = 0;
SELECT kept.same(:'q');
DELETE FROM t WHERE id BETWEEN 100 AND 200;
SELECT kept.same(:'q');
INSERT INTO t VALUES (-1, 1, 1, 'new');
SELECT kept.same(:'q');
SELECT kept.same(:'sum');
-- HOT updates within a page, and their pruning by a scan
UPDATE t SET v = v + 1 WHERE id = 5000;
UPDATE t SET v = v + 1 WHERE id = 5000;
SET enable_indexscan = off;
SELECT count(*) FROM t WHERE id = 5000;
RESET enable_indexscan;
SELECT kept.same(:'q');

-- after VACUUM the pages that have changed are captured, and served the next time
VACUUM t;
SELECT kept.same(:'q');
CALL settle();
SELECT kept.same(:'q');
SELECT kept.same(:'sum');

-- own writes, rollback, savepoints
BEGIN;
UPDATE t SET v = 1 WHERE id = 777;
SELECT kept.same(:'q');
SAVEPOINT a;
DELETE FROM t WHERE id < 1000;
SELECT kept.same(:'q');
SAVEPOINT b;
INSERT INTO t SELECT g, 1, 1, 'b' FROM generate_series(30000, 30100) g;
SELECT kept.same(:'sum');
ROLLBACK TO b;
SELECT kept.same(:'sum');
ROLLBACK TO a;
SELECT kept.same(:'q');
RELEASE a;
ROLLBACK;
SELECT kept.same(:'q');
SELECT kept.same(:'sum');
VACUUM t;
SELECT kept.same(:'q');
CALL settle();
SELECT kept.same(:'q');
-- rows that are only locked
BEGIN;
SELECT count(*) FROM (SELECT FROM t WHERE id = 888 FOR UPDATE) l;
SELECT kept.same(:'q');
COMMIT;
SELECT kept.same(:'q');

-- cursors see the table as it was when they were declared
SET gpujoin.debug_force = on;
SET gpujoin.min_rows = 0;
VACUUM t;
SELECT kept.same('SELECT t.id, d.label FROM t JOIN dim d ON t.dim = d.id WHERE t.v = 300');
CALL settle();
BEGIN;
DECLARE c CURSOR FOR SELECT count(*), sum(t.id) FROM t JOIN dim d ON t.dim = d.id WHERE t.v = 300;
DECLARE h CURSOR WITH HOLD FOR SELECT count(*), sum(t.id) FROM t JOIN dim d ON t.dim = d.id WHERE t.v = 300;
UPDATE t SET v = 300 WHERE id BETWEEN 1000 AND 1099;
FETCH c;
SELECT count(*), sum(t.id) FROM t JOIN dim d ON t.dim = d.id WHERE t.v = 300;
COMMIT;
FETCH h;
CLOSE h;
SELECT kept.same('SELECT t.id, d.label FROM t JOIN dim d ON t.dim = d.id WHERE t.v = 300');

-- a snapshot that is older than changes and VACUUM
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT kept.same(:'sum');
UPDATE t SET v = 0 WHERE id = 10;
SELECT kept.same(:'sum');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT kept.same(:'q');
COMMIT;

-- functions with queries of the snapshot before a write
CREATE FUNCTION kept.before_and_after(OUT a bigint, OUT b bigint) LANGUAGE plpgsql AS $$
BEGIN
    SELECT sum(t.v) INTO a FROM t JOIN dim d ON t.dim = d.id;
    UPDATE t SET v = v + 1 WHERE id = 20;
    SELECT sum(t.v) INTO b FROM t JOIN dim d ON t.dim = d.id;
END $$;
SELECT b - a AS one FROM kept.before_and_after();
DROP FUNCTION kept.before_and_after;
RESET gpujoin.debug_force;
RESET gpujoin.min_rows;

-- TRUNCATE, and its rollback
VACUUM t;
SELECT kept.same(:'q');
CALL settle();
BEGIN;
TRUNCATE t;
SELECT kept.same(:'q');
INSERT INTO t SELECT g, 1, 1, 'after' FROM generate_series(1, 3000) g;
SELECT kept.same(:'q');
ROLLBACK;
SELECT kept.same(:'q');
BEGIN;
TRUNCATE t;
INSERT INTO t SELECT g, g % 50, g % 1000, 'after ' || g % 100 FROM generate_series(1, 20000) g;
COMMIT;
SELECT kept.same(:'q');
VACUUM t;
SELECT kept.same(:'q');
CALL settle();
SELECT kept.same(:'q');

-- columns that are added and dropped
ALTER TABLE t ADD COLUMN more int DEFAULT 7;
\set more 'SELECT t.id, t.more, d.label FROM t JOIN dim d ON t.dim = d.id WHERE t.more > 6'
SELECT kept.same(:'q');
SELECT kept.same(:'more');
CALL settle();
SELECT kept.same(:'more');
UPDATE t SET more = 6 WHERE id = 1;
SELECT kept.same(:'more');
ALTER TABLE t DROP COLUMN more;
ALTER TABLE t ADD COLUMN more text DEFAULT 'seven';
SELECT kept.same('SELECT t.id, t.more, d.label FROM t JOIN dim d ON t.dim = d.id WHERE t.more <> ''six''');
ALTER TABLE t ALTER COLUMN v TYPE int8;
SELECT kept.same(:'q');
ALTER TABLE t RENAME COLUMN v TO w;
ALTER TABLE t RENAME COLUMN id TO v;
ALTER TABLE t RENAME COLUMN w TO id;
VACUUM t;
SELECT kept.same(:'q');
CALL settle();
SELECT kept.same(:'q');
ALTER TABLE t RENAME COLUMN v TO w;
ALTER TABLE t RENAME COLUMN id TO v;
ALTER TABLE t RENAME COLUMN w TO id;
SELECT kept.same(:'q');

-- rewrites
VACUUM FULL t;
SELECT kept.same(:'q');
VACUUM t;
SELECT kept.same(:'q');
CALL settle();
SELECT kept.same(:'q');
BEGIN;
CREATE INDEX t_v ON t (v);
CLUSTER t USING t_v;
SELECT kept.same(:'q');
ROLLBACK;
SELECT kept.same(:'q');

-- VACUUM that truncates the table, which then grows again
DELETE FROM t WHERE id > 10000;
VACUUM (TRUNCATE) t;
SELECT kept.same(:'q');
INSERT INTO t SELECT g, g % 50, g % 1000, 'again' FROM generate_series(10001, 20000) g;
SELECT kept.same(:'q');
VACUUM (FREEZE) t;
SELECT kept.same(:'q');
CALL settle();
SELECT kept.same(:'q');
-- rows that are there already frozen
BEGIN;
TRUNCATE t;
COPY t (id, dim, v, note) FROM PROGRAM 'seq 1 5000 | sed "s/.*/&\t1\t2\tcopied/"' (FREEZE);
COMMIT;
SELECT kept.same(:'q');
VACUUM t;
SELECT kept.same(:'q');
DROP TABLE t;
