/* gpujoin 0.1 */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION gpujoin" to load this file. \quit

-- Asks the daemon behind gpujoin.socket; status is what it answers, failure
-- says why it did not.
CREATE FUNCTION daemon_status(OUT failure text, OUT status pg_catalog.jsonb)
RETURNS record
AS 'MODULE_PATHNAME', 'gpujoin_daemon_status'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION daemon_status() IS
    'what gpujoind reports about itself, or why it cannot be asked';

REVOKE ALL ON FUNCTION daemon_status() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION daemon_status() TO pg_monitor;

-- The planner's hooks are there only in backends that have loaded the library.
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
        RAISE NOTICE 'gpujoin is not loaded into new sessions'
            USING HINT = pg_catalog.format(
                'ALTER DATABASE %I SET session_preload_libraries = ''gpujoin''; needs no restart.',
                pg_catalog.current_database());
    END IF;
END
$$;
