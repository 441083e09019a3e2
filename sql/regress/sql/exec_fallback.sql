-- Who is told that the native plan runs in place of a job.
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE told (a int);
INSERT INTO told SELECT generate_series(1, 100);
ANALYZE told;
SET plan_cache_mode = force_generic_plan;
PREPARE p AS SELECT count(*) FROM told x JOIN told y USING (a);
EXECUTE p;
SHOW gpujoin.log_fallbacks;
-- planned for the daemon, which is gone when the plan runs
SET gpujoin.socket = '/nowhere/gone';
SET gpujoin.log_fallbacks = off;
EXECUTE p;
-- another daemon: the one before may be left alone for a moment after it failed
SET gpujoin.socket = '/nowhere/else';
SET gpujoin.log_fallbacks = notice;
EXECUTE p;
-- the same reason again, within the minute
EXECUTE p;
-- another reason
SET gpujoin.socket = '';
EXECUTE p;
-- the user's wish is no fallback
SET gpujoin.enabled = off;
EXECUTE p;
RESET gpujoin.enabled;
RESET gpujoin.socket;
EXECUTE p;
-- the daemon's estimate of a job may be too large where the planner's is not
SET gpujoin.max_job_memory = '64kB';
EXECUTE p;
RESET gpujoin.max_job_memory;
EXECUTE p;
-- only a superuser may hide what the log has, and only one may allow larger jobs
CREATE ROLE regress_told LOGIN;
ALTER ROLE regress_told SET gpujoin.max_job_memory = '1MB';
SET ROLE regress_told;
SET gpujoin.log_fallbacks = off;
SET gpujoin.max_job_memory = -1;
RESET ROLE;
SELECT current_user AS me \gset
\c - regress_told
SHOW gpujoin.max_job_memory;
\c - :me
DROP ROLE regress_told;
DROP TABLE told;
