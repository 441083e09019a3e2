-- The extension itself: what it creates, who may use it, what it says. In a
-- database of its own, because other tests have the extension in theirs.
SELECT current_database() AS home \gset
CREATE DATABASE regress_gpujoin;
\c regress_gpujoin
SET session_preload_libraries = '';
CREATE EXTENSION gpujoin;
DROP EXTENSION gpujoin;
SET session_preload_libraries = 'auto_explain', '$libdir/other';
CREATE EXTENSION gpujoin;
DROP EXTENSION gpujoin;
SET session_preload_libraries = 'auto_explain, "$libdir/plugins/gpujoin"';
CREATE EXTENSION gpujoin;
\dx gpujoin
RESET session_preload_libraries;

SELECT proname, prorettype::regtype, proacl IS NOT NULL AS restricted
FROM pg_proc WHERE pronamespace = 'gpujoin'::regnamespace ORDER BY 1;
SELECT daemon, pid > 0 AS has_pid, providers, rates IN ('default', 'saved', 'measured') AS knows_rates, budget > 0 AS has_budget,
       pool >= pool_free AS pool_is_sane, queued
FROM gpujoin.status();
SELECT admitted >= finished + cancelled + failed AS jobs_add_up,
       refused + failed >= fallbacks AS fallbacks_add_up,
       refused + failed = coalesce((SELECT sum(value::bigint) FROM jsonb_each(reasons)), 0) AS reasons_add_up
FROM gpujoin.status();

SELECT provider, device, name IS NOT NULL AS has_name, state, memory, jobs, queued, restarts
FROM gpujoin.devices WHERE provider = 'cpu';
SELECT * FROM gpujoin.links WHERE provider = 'cpu';

-- a cursor that is left open is a job
CREATE TABLE regress_gpujoin_rows AS SELECT i FROM generate_series(1, 1000) i;
ANALYZE regress_gpujoin_rows;
SET gpujoin.debug_force = on;
SET gpujoin.min_rows = 0;
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT a.i FROM regress_gpujoin_rows a JOIN regress_gpujoin_rows b USING (i);
FETCH 1 FROM c \g /dev/null
SELECT role = current_user AS role, database, pid = pg_backend_pid() AS pid, state IN ('streaming', 'done') AS state, reserved > 0 AS reserved,
       age >= unread AS age, unread >= '0' AS unread, spooled
FROM gpujoin.jobs WHERE pid = pg_backend_pid();
SELECT regexp_replace(path, '\d+', 'N') AS path, used > 0 AS used, peak >= used AS peak, "limit" >= used AS "limit"
FROM gpujoin.memory, gpujoin.jobs
WHERE pid = pg_backend_pid() AND (path = 'daemon' OR path ~ format('^daemon/job %s(/results)?$', job)) ORDER BY 1;
COMMIT;
RESET gpujoin.debug_force;
RESET gpujoin.min_rows;
DROP TABLE regress_gpujoin_rows;

-- privileges
CREATE ROLE regress_gpujoin_user;
SET ROLE regress_gpujoin_user;
SELECT * FROM gpujoin.status();
SELECT * FROM gpujoin.daemon_status();
SELECT * FROM gpujoin.jobs;
SELECT * FROM gpujoin.devices;
SELECT * FROM gpujoin.links;
SELECT * FROM gpujoin.memory;
SET gpujoin.enabled = off;
SET gpujoin.socket = '/tmp/mine';
RESET ROLE;
GRANT pg_monitor TO regress_gpujoin_user;
SET ROLE regress_gpujoin_user;
SELECT version IS NOT NULL AS answered FROM gpujoin.status();
SELECT count(*) > 0 AS answered FROM gpujoin.devices;
SELECT count(*) >= 0 AS allowed FROM gpujoin.jobs;
SELECT count(*) >= 0 AS allowed FROM gpujoin.links;
SELECT count(*) > 0 AS answered FROM gpujoin.memory;
SELECT count(*) >= 0 AS allowed FROM gpujoin.kept;
SELECT count(*) >= 0 AS allowed FROM gpujoin.keep_progress;
RESET ROLE;
DROP ROLE regress_gpujoin_user;

-- a daemon that is not there is an answer, too
SET gpujoin.socket = '/nonexistent/socket';
SELECT * FROM gpujoin.status();
SELECT * FROM gpujoin.jobs;
SELECT * FROM gpujoin.devices;
SELECT * FROM gpujoin.links;
SELECT * FROM gpujoin.memory;
RESET gpujoin.socket;

-- settings
SELECT name, context, vartype, unit, boot_val FROM pg_settings
WHERE name LIKE 'gpujoin.%' AND name NOT LIKE '%\_cost' ORDER BY name;
SELECT count(*) AS costs, bool_and(context = 'user') AS anyone, min(min_val::float8)
FROM pg_settings WHERE name LIKE 'gpujoin.%\_cost';
SET gpujoin.no_such_setting = 1;
SET gpujoin.page_row_cost = -1;

-- the OIDs of offloaded operators agree with their comments
SELECT o.oid, o.oid::regoperator, o.oprcode, p.provolatile, p.proisstrict, p.proleakproof
FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode
WHERE o.oid IN (94, 532, 1862, 533, 96, 15, 1868, 416, 410, 607, 1093, 2060, 1320,
                2972, 98, 1054, 1752)
ORDER BY o.oid;

\c :home
DROP DATABASE regress_gpujoin;
