-- Columns that the daemon keeps: what users see of them, and what prevents it.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpujoin;
RESET client_min_messages;
CREATE SCHEMA kept;
SET search_path = kept;
\set SHOW_CONTEXT never
SET max_parallel_workers_per_gather = 0;
-- VACUUM marks pages as all-visible only if the commit is on disk
SET synchronous_commit = on;

-- What a query returns with gpujoin.keep = always, compared with the native plan, and where
-- the pages of its tables came from. Their exact number depends on the server's version, and
-- on checkpoints, after which VACUUM freezes pages.
CREATE FUNCTION kept.same(query text) RETURNS text
LANGUAGE plpgsql
SET client_min_messages = warning
SET gpujoin.debug_force = on
SET gpujoin.min_rows = 0
SET gpujoin.keep = always
AS $$
DECLARE
    a record;
    b record;
    n bigint;
    differ bigint;
BEGIN
    PERFORM gpujoin.flush_wal();
    SELECT * INTO a FROM gpujoin.session_blocks();
    EXECUTE format('CREATE TEMP TABLE offloaded AS SELECT r::text AS r FROM (%s) r', query);
    SELECT * INTO b FROM gpujoin.session_blocks();
    SET LOCAL gpujoin.enabled = off;
    EXECUTE format('CREATE TEMP TABLE native AS SELECT r::text AS r FROM (%s) r', query);
    SELECT count(*) INTO n FROM native;
    SELECT count(*) INTO differ FROM ((TABLE offloaded EXCEPT ALL TABLE native) UNION ALL (TABLE native EXCEPT ALL TABLE offloaded)) d;
    DROP TABLE offloaded, native;
    SET LOCAL gpujoin.enabled = on;
    a.kept := b.kept + b.proved - a.kept - a.proved;
    a.fed := b.fed - a.fed;
    RETURN format('%s rows, %s, %s', n, CASE differ WHEN 0 THEN 'same' ELSE differ || ' differ' END,
                  CASE WHEN a.kept + a.fed <= 1 THEN 'not asked for'
                       WHEN a.kept >= 4 * a.fed THEN 'mostly served' WHEN a.fed >= 4 * a.kept THEN 'mostly fed' ELSE 'served in part' END);
END $$;

-- Waits until all that was captured has been copied.
CREATE PROCEDURE kept.settle() LANGUAGE plpgsql AS $$
BEGIN
    WHILE (SELECT (status #>> '{kept,pending}')::int > 0 OR jsonb_array_length(status #> '{kept,progress}') > 0
           FROM gpujoin.daemon_status()) LOOP
        PERFORM pg_sleep(0.005);
    END LOOP;
END $$;

-- tables that VACUUM visits only when it is told to
CREATE TABLE kept.fact (
    id int NOT NULL, dim int, amount numeric(10,2), free numeric, f float8, day date, stamp timestamptz, flag bool,
    note text, code char(3), tags int[], doc jsonb, uid uuid, place point) WITH (autovacuum_enabled = off);
INSERT INTO kept.fact
SELECT g, nullif(g % 50, 7), g * 1.01, g / 8.0, g / 7.0, date '2020-01-01' + g % 900, timestamptz '2020-01-01 UTC' + g * interval '1 h', g % 3 = 0,
       nullif('note ' || g % 100, 'note 9'), chr(65 + g % 5), ARRAY[g, NULL], jsonb_build_object('n', g), md5(g::text)::uuid, point(g, -g)
FROM generate_series(1, 20000) g;
CREATE TABLE kept.dim (id int PRIMARY KEY, label text) WITH (autovacuum_enabled = off);
INSERT INTO kept.dim SELECT g, 'label ' || g FROM generate_series(0, 60) g;
ANALYZE kept.fact, kept.dim;

-- nothing is visible to all before VACUUM
SELECT * FROM gpujoin.keep('fact');
VACUUM kept.fact, kept.dim;
SELECT leaf, kept_columns, rows, bytes > 0 AS bytes, fraction FROM gpujoin.keep('fact');
SELECT leaf, kept_columns, rows, fraction FROM gpujoin.keep('fact', ARRAY['note', 'id']);
SELECT leaf, compared_columns, rows, kept_blocks = blocks AS all_blocks, differences FROM gpujoin.check_kept('fact');
SELECT relid::regclass, relation, columns, rows, bytes > 0 AS bytes, fraction, uses > 1 AS used, last_use > now() - interval '1 h' AS lately,
       superseded, last_fed, reason
FROM gpujoin.kept WHERE relation = 'fact';
SELECT * FROM gpujoin.keep_progress;
SELECT kept.same('SELECT * FROM fact f JOIN dim d ON f.dim = d.id');

-- after a change the page is fed
UPDATE fact SET note = 'changed' WHERE id = 1;
SELECT leaf, kept_blocks > 0 AS kept, blocks > kept_blocks AS fed, differences FROM gpujoin.check_kept('fact');
SELECT leaf, fraction FROM gpujoin.keep('fact', '{id}');

-- forgetting
SELECT gpujoin.forget('fact') > 0 AS forgotten;
SELECT gpujoin.forget('fact');
SELECT * FROM gpujoin.check_kept('fact');
SELECT count(*) FROM gpujoin.kept WHERE relation = 'fact';
-- also what is kept of the file before a rewrite
VACUUM fact;
SELECT rows, fraction FROM gpujoin.keep('fact', '{id}');
VACUUM FULL fact;
VACUUM fact;
SELECT rows, fraction FROM gpujoin.keep('fact', '{id,note}');
SELECT relid::regclass, relation, columns, superseded FROM gpujoin.kept WHERE relation ~ 'fact' ORDER BY superseded;
SELECT gpujoin.forget('fact') > 0 AS forgotten;
SELECT count(*) FROM gpujoin.kept WHERE relation ~ 'fact';

-- what prevents it
SELECT * FROM gpujoin.keep('pg_class');
CREATE UNLOGGED TABLE kept.unlogged AS SELECT 1 AS i;
SELECT * FROM gpujoin.keep('unlogged');
CREATE TEMP TABLE temporary AS SELECT 1 AS i;
SELECT * FROM gpujoin.keep('temporary');
CREATE TABLE kept.nothing (i int);
SELECT * FROM gpujoin.keep('nothing');
CREATE VIEW kept.seen AS SELECT 1 AS i;
SELECT * FROM gpujoin.keep('seen');
CREATE TYPE kept.pair AS (a int, b int);
CREATE TABLE kept.odd (i int, p kept.pair) WITH (autovacuum_enabled = off);
INSERT INTO kept.odd SELECT g, ROW(g, g)::kept.pair FROM generate_series(1, 1000) g;
VACUUM kept.odd;
SELECT * FROM gpujoin.keep('odd', '{p}');
SELECT * FROM gpujoin.keep('odd', '{missing}');
SELECT leaf, kept_columns, rows, fraction FROM gpujoin.keep('odd');
SELECT * FROM gpujoin.keep(NULL);
-- columns of which none can be the key of a join, with and without another one that can
CREATE TABLE kept.curve (y float8, x int, shape point) WITH (autovacuum_enabled = off);
INSERT INTO kept.curve SELECT g / 7.0, g, point(g, g) FROM generate_series(1, 1000) g;
VACUUM kept.curve;
SELECT leaf, kept_columns, rows, fraction FROM gpujoin.keep('curve', '{y,shape}');
SELECT leaf, compared_columns, rows, kept_blocks = blocks AS all_blocks, differences FROM gpujoin.check_kept('curve');
ALTER TABLE kept.curve DROP COLUMN x;
SELECT * FROM gpujoin.check_kept('curve');
-- columns that cannot be NULL, of which the planner knows what IS NULL and count() return
DO $$
BEGIN
    EXECUTE (SELECT format('CREATE TABLE kept.filled (%s, doc jsonb NOT NULL, place point NOT NULL) WITH (autovacuum_enabled = off)',
                           string_agg(format('c%s int NOT NULL', n), ', ')) FROM generate_series(1, 199) n);
    EXECUTE (SELECT format('INSERT INTO kept.filled SELECT %s, jsonb_build_object(''n'', g), point(g, g) FROM generate_series(1, 1000) g',
                           string_agg('g + ' || n, ', ')) FROM generate_series(1, 199) n);
END $$;
VACUUM kept.filled;
SELECT leaf, kept_columns, rows, fraction FROM gpujoin.keep('filled', '{c7,doc,place}');
SELECT leaf, cardinality(kept_columns), rows, fraction FROM gpujoin.keep('filled');
SELECT leaf, cardinality(compared_columns), rows, kept_blocks = blocks AS all_blocks, differences FROM gpujoin.check_kept('filled');
SET gpujoin.socket = '/nonexistent/socket';
SELECT * FROM gpujoin.keep('odd');
SELECT * FROM gpujoin.check_kept('odd');
SELECT gpujoin.forget('odd');
SELECT * FROM gpujoin.kept;
SELECT * FROM gpujoin.keep_progress;
RESET gpujoin.socket;

-- trees of tables
CREATE TABLE kept.parted (id int, note text) PARTITION BY RANGE (id);
CREATE TABLE kept.parted_1 PARTITION OF kept.parted FOR VALUES FROM (0) TO (5000) WITH (autovacuum_enabled = off);
CREATE TABLE kept.parted_2 PARTITION OF kept.parted FOR VALUES FROM (5000) TO (10000) WITH (autovacuum_enabled = off);
CREATE UNLOGGED TABLE kept.parted_3 PARTITION OF kept.parted DEFAULT;
INSERT INTO kept.parted SELECT g, 'note ' || g FROM generate_series(1, 10000) g;
VACUUM kept.parted_1;
SELECT leaf, kept_columns, rows, fraction FROM gpujoin.keep('parted');
SELECT leaf, rows, differences FROM gpujoin.check_kept('parted');
SELECT gpujoin.forget('parted') > 0 AS forgotten;
CREATE TABLE kept.parent (id int) WITH (autovacuum_enabled = off);
CREATE TABLE kept.child (more text) INHERITS (kept.parent) WITH (autovacuum_enabled = off);
INSERT INTO kept.child SELECT g, g FROM generate_series(1, 1000) g;
INSERT INTO kept.parent SELECT g FROM generate_series(1, 1000) g;
VACUUM kept.child, kept.parent;
SELECT leaf, kept_columns, rows, fraction FROM gpujoin.keep('parent');
SELECT leaf, rows, differences FROM gpujoin.check_kept('parent');

-- who may do what
CREATE ROLE kept_reader;
CREATE ROLE kept_owner;
GRANT USAGE ON SCHEMA kept TO kept_reader, kept_owner;
GRANT SELECT (id) ON kept.fact TO kept_reader;
ALTER TABLE kept.parent OWNER TO kept_owner;
SET ROLE kept_reader;
SELECT leaf, kept_columns, fraction FROM gpujoin.keep('fact', '{id}');
SELECT leaf, kept_columns, fraction FROM gpujoin.keep('fact', '{id,note}');
SELECT leaf, differences FROM gpujoin.check_kept('fact');
SELECT gpujoin.forget('fact');
SELECT * FROM gpujoin.kept;
SELECT * FROM gpujoin.keep_progress;
SET ROLE kept_owner;
SELECT gpujoin.forget('parent') > 0 AS forgotten;
RESET ROLE;

-- row-level security filters rows before they are fed
ALTER TABLE fact ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON fact USING (id < 10);
SET ROLE kept_reader;
SELECT * FROM gpujoin.keep('fact', '{id}');
SELECT * FROM gpujoin.check_kept('fact');
SET gpujoin.debug_force = on;
SET gpujoin.min_rows = 0;
SELECT count(*), max(id) FROM fact;
RESET gpujoin.debug_force;
RESET gpujoin.min_rows;
RESET ROLE;
ALTER TABLE fact DISABLE ROW LEVEL SECURITY;
DROP POLICY few ON fact;

-- a session that has not loaded the library before
\c -
SET search_path = kept;
SELECT leaf, kept_columns, fraction FROM gpujoin.keep('fact', '{id,day}');
SELECT leaf, compared_columns, differences FROM gpujoin.check_kept('fact');
SELECT name, setting FROM pg_settings WHERE name IN ('gpujoin.debug_force', 'gpujoin.enabled', 'gpujoin.keep', 'gpujoin.min_rows') ORDER BY 1;

ALTER TABLE parent OWNER TO current_user;
DROP OWNED BY kept_reader, kept_owner;
DROP ROLE kept_reader, kept_owner;
DROP TABLE kept.unlogged, kept.nothing, kept.odd, kept.filled, kept.parted, kept.child, kept.parent;
DROP VIEW kept.seen;
DROP TYPE kept.pair;
SELECT gpujoin.forget('fact') > 0 AS forgotten;
