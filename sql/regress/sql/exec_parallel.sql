-- Participants: 0 to 4 workers, with and without the leader, and rescans.
CREATE TABLE t_pl (id int, v int, t text);
INSERT INTO t_pl SELECT g % 5000, g, 'text ' || g FROM generate_series(1, 100000) g;
CREATE TABLE t_pr (id int, w int);
INSERT INTO t_pr SELECT g, g FROM generate_series(1, 5000) g;
ANALYZE t_pl, t_pr;
SET gpujoin.enable_aggregates = off;
SET gpujoin.debug_force = on;
SET gpujoin.min_rows = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;

CREATE FUNCTION at_workers(workers int, launched int, leader bool, query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    got text;
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', workers::text, true),
            set_config('max_parallel_workers', launched::text, true),
            set_config('parallel_leader_participation', leader::text, true);
    got := offloaded(query);
    RETURN got;
END $$;
SELECT w AS workers, l AS leader,
    at_workers(w, 8, l, 'SELECT l.v, l.t, r.w FROM t_pl l JOIN t_pr r USING (id)')
FROM generate_series(0, 4) w, unnest(ARRAY[true, false]) l ORDER BY w, l;
-- planned, but none can be had
SELECT l AS leader, at_workers(2, 0, l, 'SELECT l.v, l.t, r.w FROM t_pl l JOIN t_pr r USING (id)')
FROM unnest(ARRAY[true, false]) l;

SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT count(*), sum(l.v) FROM t_pl l JOIN t_pr r USING (id);
SELECT count(*), sum(l.v) FROM t_pl l JOIN t_pr r USING (id);
-- the Gather again and again
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(x.v) FROM generate_series(1, 4) n
    LEFT JOIN (SELECT l.v FROM t_pl l JOIN t_pr r USING (id) WHERE r.w % 100 = 0 OFFSET 0) x ON true;
SELECT count(*), sum(x.v) FROM generate_series(1, 4) n
    LEFT JOIN (SELECT l.v FROM t_pl l JOIN t_pr r USING (id) WHERE r.w % 100 = 0 OFFSET 0) x ON true;
SET parallel_leader_participation = off;
SELECT count(*), sum(x.v) FROM generate_series(1, 4) n
    LEFT JOIN (SELECT l.v FROM t_pl l JOIN t_pr r USING (id) WHERE r.w % 100 = 0 OFFSET 0) x ON true;
RESET parallel_leader_participation;
RESET enable_material;
-- left before its end
SELECT count(*) FROM (SELECT l.v FROM t_pl l JOIN t_pr r USING (id) LIMIT 10) x;
-- an error in one of the participants, whichever it is
\set SHOW_CONTEXT never
SELECT count(*) FROM t_pl l JOIN t_pr r USING (id) WHERE 10 / (l.v - 77777) > 5;
SELECT count(*), sum(l.v) FROM t_pl l JOIN t_pr r USING (id);
-- no daemon: all participants run the native plan, and none waits
SET plan_cache_mode = force_generic_plan;
PREPARE p AS SELECT count(*), sum(l.v) FROM t_pl l JOIN t_pr r USING (id);
EXECUTE p;
SET gpujoin.socket = '/nonexistent/gpujoind.sock';
EXECUTE p;
SET parallel_leader_participation = off;
EXECUTE p;
SET max_parallel_workers = 0;
EXECUTE p;
RESET max_parallel_workers;
RESET parallel_leader_participation;
PREPARE again AS SELECT count(*), sum(x.v) FROM generate_series(1, 4) n
    LEFT JOIN (SELECT l.v FROM t_pl l JOIN t_pr r USING (id) WHERE r.w % 100 = 0 OFFSET 0) x ON true;
RESET gpujoin.socket;
SET enable_material = off;
EXECUTE again;
SET gpujoin.socket = '/nonexistent/gpujoind.sock';
EXECUTE again;
RESET enable_material;
RESET gpujoin.socket;
DEALLOCATE p;
DEALLOCATE again;
RESET plan_cache_mode;
DROP FUNCTION at_workers;
DROP TABLE t_pl, t_pr;
