-- Partitioned tables and inheritance trees: each leaf is kept by itself, whatever the others
-- do. Each query returns what the native plan returns.
SET search_path = kept;
SET synchronous_commit = on;
SET max_parallel_workers_per_gather = 0;
-- tests of before have kept a table of this name
SET client_min_messages = warning;
SET jit = off;

-- What a query returns, once all that the ones before have captured is kept.
CREATE FUNCTION kept.settled(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    CALL kept.settle();
    RETURN kept.same(query);
END $$;

-- leaves with columns of other numbers, sub-partitions and a default partition
CREATE TABLE kept.sales (
    id int, day int, dim int, amount numeric(10,2), free numeric, note text, twice int GENERATED ALWAYS AS (id * 2) STORED
) PARTITION BY RANGE (day);
CREATE TABLE kept.s1 PARTITION OF sales FOR VALUES FROM (0) TO (10) WITH (autovacuum_enabled = off);
CREATE TABLE kept.s2 (note text, gone int, free numeric, extra text DEFAULT 'extra', dim int, day int, gone2 text, id int, amount numeric(10,2),
                      twice int GENERATED ALWAYS AS (id * 2) STORED) WITH (autovacuum_enabled = off);
ALTER TABLE s2 DROP COLUMN gone, DROP COLUMN gone2, DROP COLUMN extra;
ALTER TABLE sales ATTACH PARTITION s2 FOR VALUES FROM (10) TO (20);
CREATE TABLE kept.s3 PARTITION OF sales FOR VALUES FROM (20) TO (30) PARTITION BY HASH (id);
CREATE TABLE kept.s3a PARTITION OF s3 FOR VALUES WITH (MODULUS 2, REMAINDER 0) WITH (autovacuum_enabled = off);
CREATE TABLE kept.s3b (twice int GENERATED ALWAYS AS (id * 2) STORED, id int, day int, note text, dim int, amount numeric(10,2), free numeric)
    WITH (autovacuum_enabled = off);
ALTER TABLE s3 ATTACH PARTITION s3b FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE kept.s9 PARTITION OF sales DEFAULT WITH (autovacuum_enabled = off);
INSERT INTO sales SELECT g, g % 50, g % 40, g / 100.0, g / 8.0, 'note ' || g % 100 FROM generate_series(1, 20000) g;
ANALYZE sales;
VACUUM sales;

SET gpujoin.debug_force = on;
EXPLAIN (COSTS OFF) SELECT s.id, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.day < 12 AND s.note <> 'note 7';
RESET gpujoin.debug_force;

-- the first use captures, the second one is served
\set q 'SELECT s.id, s.amount, s.free, s.twice, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.day < 45 AND s.note <> ''note 7'''
\set sum 'SELECT d.label, count(*), sum(s.amount), max(s.note), min(s.twice) FROM sales s JOIN dim d ON s.dim = d.id GROUP BY d.label'
SELECT kept.settled(:'q');
SELECT kept.settled(:'q');
SELECT kept.settled(:'sum');
SELECT kept.settled(:'sum');
SELECT relation, columns, rows, fraction FROM gpujoin.kept WHERE relation ~ '^s[0-9]' ORDER BY 1;

-- some leaves, and a single one, with other numbers of columns
SELECT kept.settled('SELECT s.*, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.day BETWEEN 10 AND 25');
SELECT kept.settled('SELECT s.*, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.day BETWEEN 10 AND 25');
SELECT kept.settled('SELECT s.id, s.note, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.day = 15 AND s.free > 100');
SELECT kept.settled('SELECT s.id, s.note, d.label FROM s3 s JOIN dim d ON s.dim = d.id WHERE s.free > 100');
SELECT kept.settled('SELECT s.id, s.note, d.label FROM s2 s JOIN dim d ON s.dim = d.id WHERE s.free > 100');
-- a partition that is read by itself, and with the others
SELECT kept.settled('SELECT s.id, t.note, t.amount FROM sales s JOIN s2 t ON s.id = t.id + 1 WHERE s.day < 30');
SELECT kept.settled('SELECT s.id, t.note, t.amount FROM sales s JOIN sales t ON s.id = t.id + 1 WHERE s.day < 30 AND t.day > 10');

-- partitions that are excluded when the plan starts, or while it runs
CREATE FUNCTION kept.cutoff() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN 25; END';
SELECT kept.settled('SELECT s.id, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.day > kept.cutoff()');
SELECT kept.settled('SELECT s.id, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.day = (SELECT min(id) + 12 FROM dim)');
SELECT kept.settled('SELECT s.id, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.day > (SELECT max(id) FROM dim)');
SELECT kept.settled('SELECT x, (SELECT sum(s.id) FROM sales s JOIN dim d ON s.dim = d.id WHERE s.day = x AND s.note <> ''note 3'') FROM generate_series(8, 32) x');
SELECT kept.settled('SELECT x, n FROM generate_series(8, 32, 4) x, LATERAL (SELECT count(*) AS n FROM sales s JOIN dim d ON s.dim = d.id WHERE s.day >= x) l');
SET plan_cache_mode = force_generic_plan;
PREPARE p(int) AS SELECT d.label, count(*), sum(s.amount) FROM sales s JOIN dim d ON s.dim = d.id WHERE s.day >= $1 GROUP BY d.label;
CREATE FUNCTION kept.prepared(low int) RETURNS text LANGUAGE plpgsql
SET gpujoin.debug_force = on SET gpujoin.min_rows = 0 SET gpujoin.keep = always AS $$
DECLARE
    differ bigint;
BEGIN
    EXECUTE format('CREATE TEMP TABLE offloaded AS EXECUTE p(%s)', low);
    SET LOCAL gpujoin.enabled = off;
    EXECUTE format('CREATE TEMP TABLE native AS EXECUTE p(%s)', low);
    SET LOCAL gpujoin.enabled = on;
    SELECT count(*) INTO differ FROM ((TABLE offloaded EXCEPT ALL TABLE native) UNION ALL (TABLE native EXCEPT ALL TABLE offloaded)) d;
    DROP TABLE offloaded, native;
    RETURN format('%s differ', differ);
END $$;
SELECT low, kept.prepared(low) FROM unnest('{0,15,28,49,60}'::int[]) low;
-- a generic plan of before the change of a partition's columns
ALTER TABLE sales ADD COLUMN later int DEFAULT 3;
SELECT low, kept.prepared(low) FROM unnest('{0,15}'::int[]) low;
SELECT kept.settled('SELECT s.id, s.later, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.later < 5');
SELECT kept.settled('SELECT s.id, s.later, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.later < 5');
DEALLOCATE p;
RESET plan_cache_mode;

-- a partition that changes, beside others that do not
UPDATE sales SET amount = amount + 1 WHERE day BETWEEN 10 AND 19;
SELECT kept.settled(:'q');
INSERT INTO sales (id, day, dim, note) VALUES (-1, 12, 1, 'new'), (-2, 99, 2, 'new');
SELECT kept.settled(:'q');
DELETE FROM s3b WHERE id % 3 = 0;
SELECT kept.settled(:'q');
BEGIN;
UPDATE sales SET day = day + 10 WHERE day BETWEEN 5 AND 8;
SELECT kept.settled(:'q');
ROLLBACK;
SELECT kept.settled(:'q');
UPDATE sales SET day = day + 10 WHERE day BETWEEN 5 AND 8;
SELECT kept.settled(:'q');
VACUUM sales;
SELECT kept.settled(:'q');
SELECT kept.settled(:'q');
TRUNCATE s3a;
SELECT kept.settled(:'q');
INSERT INTO sales SELECT g, 20 + g % 10, g % 40, 1, 2, 'again' FROM generate_series(1, 3000) g;
SELECT kept.settled(:'q');
VACUUM s3a;
SELECT kept.settled(:'q');

-- partitions that come and go
CREATE TABLE kept.s4 (dim int, note text, day int, id int, free numeric, later int, amount numeric(10,2),
                      twice int GENERATED ALWAYS AS (id * 2) STORED) WITH (autovacuum_enabled = off);
INSERT INTO s4 SELECT g % 40, 'fourth', 100 + g % 10, g, g, g, g FROM generate_series(1, 4000) g;
VACUUM ANALYZE s4;
ALTER TABLE sales ATTACH PARTITION s4 FOR VALUES FROM (100) TO (110);
\set all 'SELECT s.id, s.later, s.note, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.later IS NOT NULL'
SELECT kept.settled(:'all');
SELECT kept.settled(:'all');
ALTER TABLE sales DETACH PARTITION s2;
SELECT kept.settled(:'all');
SELECT kept.settled('SELECT s.id, s.later, s.note, d.label FROM s2 s JOIN dim d ON s.dim = d.id WHERE s.later IS NOT NULL');
UPDATE s2 SET later = 8, day = 111 + id % 2 WHERE id > 0;
DELETE FROM s2 WHERE id < 0;
ALTER TABLE sales ATTACH PARTITION s2 FOR VALUES FROM (111) TO (113);
SELECT kept.settled(:'all');
DROP TABLE s1;
SELECT kept.settled(:'all');
ALTER TABLE sales DROP COLUMN amount;
SELECT kept.settled(:'all');
ALTER TABLE sales ADD COLUMN amount numeric(10,2) DEFAULT 5;
SELECT kept.settled('SELECT s.id, s.amount, d.label FROM sales s JOIN dim d ON s.dim = d.id');
ALTER TABLE sales ALTER COLUMN later TYPE int8;
SELECT kept.settled(:'all');

-- functions on all leaves
VACUUM sales;
SELECT gpujoin.forget('sales') > 0 AS forgotten;
SELECT leaf, rows, fraction FROM gpujoin.keep('sales', '{id,dim,note,later}');
SELECT kept.settled(:'all');
SELECT leaf, differences FROM gpujoin.check_kept('sales');
SELECT gpujoin.forget('sales') > 0 AS forgotten;
SELECT count(*) FROM gpujoin.kept WHERE relation ~ '^s[0-9]';

-- a leaf that cannot be kept, beside others
ALTER TABLE sales DETACH PARTITION s4;
ALTER TABLE s4 SET UNLOGGED;
ALTER TABLE sales ATTACH PARTITION s4 FOR VALUES FROM (100) TO (110);
VACUUM s4;
SELECT kept.settled(:'all');
SELECT kept.settled(:'all');
SELECT relation FROM gpujoin.kept WHERE relation ~ '^s[0-9]' ORDER BY 1;
UPDATE s4 SET later = NULL WHERE id < 1000;
SELECT kept.settled(:'all');
-- an empty one, and one that gets its first rows
CREATE TABLE kept.s5 PARTITION OF sales FOR VALUES FROM (200) TO (210);
SELECT kept.settled(:'all');
INSERT INTO sales (id, day, dim, note) SELECT g, 205, 1, 'first' FROM generate_series(1, 100) g;
SELECT kept.settled(:'all');

-- policies and privileges are those of the parent
CREATE ROLE kept_parent;
GRANT USAGE ON SCHEMA kept TO kept_parent;
GRANT SELECT ON sales, dim TO kept_parent;
SET ROLE kept_parent;
SET gpujoin.debug_force = on;
SET gpujoin.keep = always;
SELECT count(*), sum(s.later) FROM sales s JOIN dim d ON s.dim = d.id;
SELECT count(*) FROM s2 s JOIN dim d ON s.dim = d.id;
\set SHOW_CONTEXT never
SELECT leaf FROM gpujoin.check_kept('sales');
\set SHOW_CONTEXT errors
RESET ROLE;
ALTER TABLE sales ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON sales USING (id < 100);
SET ROLE kept_parent;
EXPLAIN (COSTS OFF) SELECT s.id, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.day < 25;
SELECT count(*), sum(s.later) FROM sales s JOIN dim d ON s.dim = d.id;
RESET ROLE;
SELECT count(*), sum(s.later) FROM sales s JOIN dim d ON s.dim = d.id;
ALTER TABLE sales DISABLE ROW LEVEL SECURITY;
RESET gpujoin.debug_force;
RESET gpujoin.keep;

-- several participants: leaves of which each feeds a part, and small ones that one feeds
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = '200kB';
SELECT gpujoin.forget('sales') > 0 AS forgotten;
\set par 'SELECT d.label, count(*), sum(s.later), max(s.note) FROM sales s JOIN dim d ON s.dim = d.id WHERE s.later IS NOT NULL GROUP BY d.label'
SELECT kept.settled(:'par');
SELECT kept.settled(:'par');
UPDATE sales SET later = later + 1 WHERE day BETWEEN 20 AND 22;
SELECT kept.settled(:'par');
SELECT kept.settled(:'all');
VACUUM sales;
SELECT kept.settled(:'par');
SET enable_parallel_append = off;
SELECT kept.settled(:'par');
RESET enable_parallel_append;
SET max_parallel_workers_per_gather = 0;
-- SERIALIZABLE, and a snapshot of before the changes
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT kept.settled(:'all');
SELECT kept.settled(:'par');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT kept.settled(:'all');
COMMIT;

-- a partition that an index finds
CREATE INDEX ON sales (id);
ANALYZE sales;
SELECT kept.settled('SELECT s.id, s.note, d.label FROM sales s JOIN dim d ON s.dim = d.id WHERE s.id = 77');

-- an inheritance tree
CREATE TABLE kept.base (id int, dim int, v int, note text) WITH (autovacuum_enabled = off);
CREATE TABLE kept.one (more text) INHERITS (base) WITH (autovacuum_enabled = off);
CREATE TABLE kept.other (note text, x int8, v int) WITH (autovacuum_enabled = off);
CREATE TABLE kept.two () INHERITS (other, base) WITH (autovacuum_enabled = off);
INSERT INTO base SELECT g, g % 40, g % 100, 'base ' || g % 10 FROM generate_series(1, 5000) g;
INSERT INTO one SELECT g, g % 40, g % 100, 'one ' || g % 10, 'more' FROM generate_series(1, 5000) g;
INSERT INTO two SELECT 'two ' || g % 10, g, g % 100, g, g % 40 FROM generate_series(1, 5000) g;
VACUUM ANALYZE base, one, two;
\set tree 'SELECT b.id, b.v, d.label FROM base b JOIN dim d ON b.dim = d.id WHERE b.note <> ''one 3'' AND b.v < 90'
\set only 'SELECT b.id, b.v, d.label FROM ONLY base b JOIN dim d ON b.dim = d.id WHERE b.note <> ''base 3'' AND b.v < 90'
SELECT kept.settled(:'tree');
SELECT kept.settled(:'tree');
SELECT kept.settled(:'only');
UPDATE one SET v = v + 50 WHERE id % 10 = 0;
SELECT kept.settled(:'tree');
SELECT kept.settled(:'only');
DELETE FROM ONLY base WHERE id < 1000;
SELECT kept.settled(:'tree');
SELECT kept.settled(:'only');
-- a temporary child
CREATE TEMP TABLE three (more int) INHERITS (kept.base);
INSERT INTO three SELECT g, g % 40, g % 100, 'three', 3 FROM generate_series(1, 3000) g;
SELECT kept.settled(:'tree');
UPDATE three SET v = 1;
SELECT kept.settled(:'tree');
SELECT relation FROM gpujoin.kept WHERE relation IN ('base', 'one', 'two', 'three') ORDER BY 1;
ALTER TABLE two NO INHERIT base;
SELECT kept.settled(:'tree');
DROP TABLE three;
DROP TABLE kept.base, one, two, other;
-- joined partition by partition, where before 19 no page is asked for (plan_partitionwise.sql)
SET max_parallel_workers_per_gather = 2;
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT split_part(kept.settled('SELECT s.id, t.note FROM sales s JOIN sales t ON s.day = t.day AND s.id = t.id'), ',', 2);
SELECT split_part(kept.settled('SELECT s.day, count(*), max(t.note) FROM sales s JOIN sales t ON s.day = t.day AND s.id = t.id GROUP BY s.day'), ',', 2);
RESET enable_partitionwise_join;
RESET enable_partitionwise_aggregate;
SET max_parallel_workers_per_gather = 0;
DROP TABLE sales;
DROP OWNED BY kept_parent;
DROP ROLE kept_parent;
RESET client_min_messages;
