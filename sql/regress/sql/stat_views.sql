-- The statistics views: what they show of a job, and to whom.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpujoin;
RESET client_min_messages;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
SET compute_query_id = on;
SET cursor_tuple_fraction = 1;
CREATE TABLE counted (a int, b text);
INSERT INTO counted SELECT g, repeat('x', 200) FROM generate_series(1, 100000) g;
ANALYZE counted;
CREATE ROLE regress_stats;
SELECT admitted AS before FROM gpujoin.stat_daemon \gset
BEGIN;
DECLARE c CURSOR FOR SELECT x.a, x.b, y.b AS c FROM counted x JOIN counted y USING (a);
FETCH 1 FROM c \gset fetched_
SELECT job > 0 AS has_number, pid = pg_backend_pid() AS mine, datid = (SELECT oid FROM pg_database WHERE datname = current_database()) AS right_datid,
       datname = current_database() AS here, usesysid = usename::regrole AS same_role, usename = current_user AS my_role,
       queryid IS NOT NULL AS has_query, phase, waits_for, rows, bytes > rows AS has_bytes, result_rows > 0 AS has_result,
       result_bytes > 0 AS has_result_bytes, reserved >= used AS within, spooled, age > unread AS unread_later
FROM gpujoin.stat_jobs WHERE pid = pg_backend_pid();
SELECT phase, rows_total, rows_done, bytes_done > 0 AS has_bytes, result_rows_total BETWEEN 90000 AND 110000 AS as_planned,
       result_rows_done BETWEEN 1 AND 100000 AS some_done
FROM gpujoin.stat_progress_job WHERE pid = pg_backend_pid();
-- others see their own jobs, and what is nobody's
SET ROLE regress_stats;
SELECT count(*) FROM gpujoin.stat_jobs WHERE pid = pg_backend_pid();
SELECT count(*) FROM gpujoin.stat_progress_job WHERE pid = pg_backend_pid();
SELECT DISTINCT member FROM gpujoin.stat_report() ORDER BY 1;
SELECT state FROM gpujoin.stat_daemon;
SELECT count(*) > 0 AS has_devices FROM gpujoin.stat_devices;
RESET ROLE;
GRANT pg_read_all_stats TO regress_stats;
SET ROLE regress_stats;
SELECT count(*) FROM gpujoin.stat_jobs WHERE pid = pg_backend_pid();
RESET ROLE;
COMMIT;
SELECT state, version = (SELECT extversion FROM pg_extension WHERE extname = 'gpujoin') AS same_version, pid > 0 AS has_pid, providers,
       budget >= reserved AS within, admitted > :before AS counted, admitted >= finished + cancelled + failed AS adds_up,
       queue_ms >= 0 AND feed_ms > 0 AND join_ms > 0 AND return_ms >= 0 AS has_times, resident > 0 AS has_memory, goroutines > 0 AS has_goroutines,
       open_files > 0 AS has_files, stats_reset < now() AS since
FROM gpujoin.stat_daemon;
SELECT provider, device, state, jobs >= 0 AS has_jobs FROM gpujoin.stat_devices WHERE provider = 'cpu';
-- a reset begins anew; what monitoring reads goes on
SELECT status #>> '{totals,admitted}' AS before FROM gpujoin.daemon_status() \gset total_
SELECT gpujoin.stat_daemon_reset() AS reset \gset
SELECT s.admitted, s.fallbacks, s.reasons, s.feed_ms, s.stats_reset = :'reset' AS since, :'reset' <= clock_timestamp() AS past,
       d.admitted AS of_status
FROM gpujoin.stat_daemon s, gpujoin.status() d;
SELECT (status #>> '{totals,admitted}')::bigint = :total_before AS goes_on FROM gpujoin.daemon_status();
SELECT count(*) FROM counted x JOIN counted y USING (a);
SELECT admitted, feed_ms > 0 AS has_time FROM gpujoin.stat_daemon;
SET ROLE regress_stats;
SELECT gpujoin.stat_daemon_reset();
RESET ROLE;
-- a daemon that is not there is an answer, too
SET gpujoin.socket = '/nonexistent/socket';
SELECT state, pid, fallbacks, join_ms, stats_reset FROM gpujoin.stat_daemon;
SELECT * FROM gpujoin.stat_jobs;
SELECT * FROM gpujoin.stat_progress_job;
SELECT * FROM gpujoin.stat_devices;
SELECT gpujoin.stat_daemon_reset();
RESET gpujoin.socket;
DROP TABLE counted;
DROP ROLE regress_stats;
-- counts of statements need shared memory
SELECT * FROM gpujoin.stat_statements;
SELECT * FROM gpujoin.stat_statements_info;
SELECT gpujoin.stat_statements_reset();
SET gpujoin.stat_statements_max = 5;
