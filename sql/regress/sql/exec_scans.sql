-- Cursors, limits, rescans, parameters, exceptions.
CREATE TABLE t_l (id int, v int);
INSERT INTO t_l SELECT g % 1000, g FROM generate_series(1, 20000) g;
CREATE TABLE t_r (id int, w text);
INSERT INTO t_r SELECT g, 'w' || g FROM generate_series(1, 1000) g;
CREATE TABLE t_n (n int);
INSERT INTO t_n SELECT generate_series(1, 5);
ANALYZE t_l, t_r, t_n;
SET gpujoin.enable_aggregates = off;
SET gpujoin.debug_force = on;
SET gpujoin.min_rows = 0;
SET max_parallel_workers_per_gather = 0;

-- Moves a cursor n rows, or to its end. Returns the number of rows moved.
CREATE FUNCTION move(c refcursor, n int DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    moved bigint;
BEGIN
    IF n IS NULL THEN
        MOVE FORWARD ALL IN c;
    ELSE
        MOVE FORWARD n IN c;
    END IF;
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END $$;

-- a cursor is read in parts, and left
BEGIN;
DECLARE c CURSOR FOR SELECT l.v, r.w FROM t_l l JOIN t_r r USING (id);
SELECT move('c', 15000), move('c');
CLOSE c;
DECLARE c CURSOR FOR SELECT l.v, r.w FROM t_l l JOIN t_r r USING (id);
SELECT move('c', 1);
DECLARE c2 CURSOR FOR SELECT l.v, r.w FROM t_l l JOIN t_r r USING (id);
SELECT move('c2', 2), move('c');
COMMIT;
-- one that outlives its transaction, and one that goes backwards
BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT l.v, r.w FROM t_l l JOIN t_r r USING (id);
COMMIT;
SELECT move('h');
CLOSE h;
BEGIN;
DECLARE s SCROLL CURSOR FOR SELECT l.v FROM t_l l JOIN t_r r USING (id);
SELECT move('s', 10), move('s', -5), move('s');
COMMIT;

SELECT count(*) FROM (SELECT 1 FROM t_l l JOIN t_r r USING (id) LIMIT 7) x;
SELECT count(*) FROM (SELECT 1 FROM t_l l JOIN t_r r USING (id) LIMIT 0) x;

-- How often the node and the scans below it ran.
CREATE FUNCTION loops(query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
    node jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
    node := jsonb_path_query_first(plan, 'strict $.**?(@."Custom Plan Provider" == "OffloadJoin")');
    RETURN format('join %s, inputs %s%s', node ->> 'Actual Loops',
        (SELECT string_agg(p ->> 'Actual Loops', ', ') FROM jsonb_array_elements(node -> 'Plans') p
         WHERE p ->> 'Node Type' = 'Seq Scan'),
        ', fallback ' || (node ->> 'Fallback'));
END $$;

-- the inner side of a nested loop, without and with a parameter
SET enable_material = off;
SET enable_memoize = off;
SELECT loops('SELECT count(*) FROM t_n n LEFT JOIN
    (SELECT l.v FROM t_l l JOIN t_r r USING (id) WHERE r.id < 20 OFFSET 0) x ON x.v > n.n * 1000');
SELECT loops('SELECT n, x.count FROM t_n n,
    LATERAL (SELECT count(*) FROM t_l l JOIN t_r r USING (id) WHERE l.v < n.n * 10) x');
SELECT n, (SELECT count(*) FROM t_l l JOIN t_r r USING (id) WHERE l.v <= n.n * 1000) FROM t_n n ORDER BY n;
SELECT n, x.count FROM t_n n,
    LATERAL (SELECT count(*) FROM t_l l JOIN t_r r USING (id) WHERE l.v % 7 = n.n) x ORDER BY n;
SELECT count(*) FROM t_n n LEFT JOIN (SELECT l.v FROM t_l l JOIN t_r r USING (id) WHERE r.id < 20 OFFSET 0) x ON x.v > n.n * 1000;
-- so many scans that the native plan is tried for some
SELECT count(*), sum(count), sum(count * n) FROM generate_series(1, 300) n,
    LATERAL (SELECT count(*) FROM t_l l JOIN t_r r USING (id) WHERE l.v % 7 = n % 11) x;
SET gpujoin.enabled = off;
SELECT count(*), sum(count), sum(count * n) FROM generate_series(1, 300) n,
    LATERAL (SELECT count(*) FROM t_l l JOIN t_r r USING (id) WHERE l.v % 7 = n % 11) x;
RESET gpujoin.enabled;
RESET enable_memoize;
RESET enable_material;

-- parameters of a generic plan, in conditions of the page feed and others
SET plan_cache_mode = force_generic_plan;
PREPARE p(int, text) AS SELECT count(*), min(l.v), max(r.w) FROM t_l l JOIN t_r r USING (id)
    WHERE l.v < $1 AND r.w <> $2;
EXPLAIN (COSTS OFF) EXECUTE p(100, '');
EXECUTE p(10000, 'w5');
EXECUTE p(500, 'w6');
EXECUTE p(NULL, 'w6');
-- a setting that is turned off after planning takes effect
SET gpujoin.enabled = off;
EXECUTE p(10000, 'w5');
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE p(10000, 'w5');
RESET gpujoin.enabled;
-- and a daemon that has gone is not missed
SET gpujoin.socket = '/nonexistent/gpujoind.sock';
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE p(10000, 'w5');
RESET gpujoin.socket;
DEALLOCATE p;
RESET plan_cache_mode;

-- a block that fails lets go of all it holds, and the next one works
DO $$
DECLARE
    one record;
    caught int := 0;
BEGIN
    FOR i IN 1 .. 40 LOOP
        BEGIN
            FOR one IN SELECT l.v, r.w FROM t_l l JOIN t_r r USING (id) LOOP
                PERFORM 1 / (one.v - one.v);
            END LOOP;
        EXCEPTION WHEN division_by_zero THEN
            caught := caught + 1;
        END;
    END LOOP;
    RAISE NOTICE 'caught %', caught;
END $$;
-- an error in a child, while it feeds
SELECT count(*) FROM t_l l JOIN t_r r USING (id) WHERE 10 / (l.v - 19000) > 5;
SELECT count(*) FROM t_l l JOIN t_r r USING (id);

-- conditions that are not keys
SELECT offloaded('SELECT l.v, r.w FROM t_l l JOIN t_r r ON l.id = r.id AND l.v > r.id * 10');
SELECT offloaded('SELECT l.v, r.w FROM t_l l JOIN t_r r ON l.id = r.id AND l.v::text <> r.w');
-- a join of joins, one of them twice the same table
SELECT offloaded('SELECT a.v, b.w, c.n, d.w FROM t_l a JOIN t_r b USING (id) JOIN t_n c ON c.n = a.id JOIN t_r d ON d.id = c.n');

-- both plans, compared
SET gpujoin.verify = on;
SELECT count(*), sum(l.v) FROM t_l l JOIN t_r r USING (id);
BEGIN;
DECLARE c CURSOR FOR SELECT l.v, r.w FROM t_l l JOIN t_r r USING (id);
SELECT move('c', 15000), move('c');
COMMIT;
RESET gpujoin.verify;
DROP FUNCTION move, loops;
DROP TABLE t_l, t_r, t_n;
