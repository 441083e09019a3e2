/* gpujoin 0.1 */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION gpujoin" to load this file. \quit

-- Asks the daemon at gpujoin.socket. status is its answer; if there is none,
-- failure is the reason.
CREATE FUNCTION daemon_status(OUT failure text, OUT status pg_catalog.jsonb)
RETURNS record
AS 'MODULE_PATHNAME', 'gpujoin_daemon_status'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION daemon_status() IS
    'status report of gpujoind, or the reason why there is none';

-- The same as a row. daemon is 'running', 'stopping', or the reason why there
-- is no status; all other columns are NULL in that case. Sizes are in bytes.
-- docs/daemon.md, Status, describes the columns.
CREATE FUNCTION status(
    OUT daemon text, OUT version text, OUT pid integer, OUT uptime interval,
    OUT providers text[], OUT budget bigint, OUT reserved bigint, OUT used bigint,
    OUT pool bigint, OUT pool_free bigint, OUT jobs integer, OUT queued integer,
    OUT admitted bigint, OUT finished bigint, OUT cancelled bigint, OUT failed bigint,
    OUT refused bigint, OUT fallbacks bigint, OUT reasons pg_catalog.jsonb)
RETURNS record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT CASE
             WHEN d.failure IS NOT NULL THEN d.failure
             WHEN (d.status ->> 'stopping')::boolean THEN 'stopping'
             ELSE 'running'
           END,
           d.status ->> 'version',
           (d.status ->> 'pid')::integer,
           pg_catalog.make_interval(secs => (d.status ->> 'uptime_s')::double precision),
           (SELECT pg_catalog.array_agg(name)
            FROM pg_catalog.jsonb_array_elements_text(d.status -> 'providers') AS name),
           (d.status ->> 'budget')::bigint,
           (d.status ->> 'reserved')::bigint,
           (d.status ->> 'used')::bigint,
           (d.status #>> '{pool,extents}')::bigint * (d.status #>> '{pool,extent_size}')::bigint,
           (d.status #>> '{pool,free}')::bigint * (d.status #>> '{pool,extent_size}')::bigint,
           pg_catalog.jsonb_array_length(d.status -> 'jobs'),
           (d.status ->> 'queued')::integer,
           (d.status #>> '{totals,admitted}')::bigint,
           (d.status #>> '{totals,finished}')::bigint,
           (d.status #>> '{totals,cancelled}')::bigint,
           (d.status #>> '{totals,failed}')::bigint,
           (d.status #>> '{totals,refused}')::bigint,
           (d.status #>> '{totals,fallbacks}')::bigint,
           d.status #> '{totals,reasons}'
    FROM daemon_status() AS d;
END;

COMMENT ON FUNCTION status() IS 'state, memory and jobs of gpujoind';

-- The devices on which joins may run. The view is empty if the daemon does not
-- answer. docs/daemon.md, Status, describes the columns.
CREATE VIEW devices AS
    SELECT d.*
    FROM daemon_status() AS s,
         pg_catalog.jsonb_to_recordset(s.status -> 'devices') AS d(
             provider text, device integer, name text, state text, reason text,
             memory bigint, budget bigint, used bigint,
             jobs integer, queued integer, restarts integer);

COMMENT ON VIEW devices IS 'devices on which gpujoind can run joins, and their states';

-- How these devices are connected with each other and with the host, whose number
-- is NULL. The view is empty if the daemon does not answer or has one device.
-- docs/daemon.md, Status, describes the columns.
CREATE VIEW links AS
    SELECT l.*
    FROM daemon_status() AS s,
         pg_catalog.jsonb_to_recordset(s.status -> 'links') AS l(
             provider text, source integer, target integer, kind text,
             gbps double precision, latency_us double precision, note text);

COMMENT ON VIEW links IS 'links between the devices on which gpujoind can run joins';

REVOKE ALL ON FUNCTION daemon_status(), status() FROM PUBLIC;
REVOKE ALL ON devices, links FROM PUBLIC;
GRANT USAGE ON SCHEMA gpujoin TO pg_monitor;
GRANT EXECUTE ON FUNCTION daemon_status(), status() TO pg_monitor;
GRANT SELECT ON devices, links TO pg_monitor;

-- Only backends that have loaded the library have the planner's hooks.
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT
        FROM pg_catalog.unnest(ARRAY['session_preload_libraries',
                                     'shared_preload_libraries',
                                     'local_preload_libraries']) AS setting,
             pg_catalog.regexp_split_to_table(
                 pg_catalog.current_setting(setting), '\s*,\s*') AS library
        WHERE pg_catalog.btrim(library, ' "') OPERATOR(pg_catalog.~) '^(.*/)?gpujoin(\.so)?$')
    THEN
        -- extension scripts run with notices switched off
        PERFORM pg_catalog.set_config('client_min_messages', 'notice', true);
        RAISE NOTICE 'gpujoin is not loaded into new sessions'
            USING HINT = pg_catalog.format(
                'Run "ALTER DATABASE %I SET session_preload_libraries = %s". No restart is needed.',
                pg_catalog.current_database(),
                -- the libraries that are loaded already, each quoted by itself
                (SELECT pg_catalog.string_agg(pg_catalog.quote_literal(name), ', ')
                 FROM (SELECT pg_catalog.btrim(library, ' "')
                       FROM pg_catalog.regexp_split_to_table(
                           pg_catalog.current_setting('session_preload_libraries'), '\s*,\s*') AS library
                       WHERE pg_catalog.btrim(library, ' "') OPERATOR(pg_catalog.<>) ''
                       UNION ALL SELECT 'gpujoin') AS libraries(name)));
    END IF;
END
$$;
