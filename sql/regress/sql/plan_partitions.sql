-- Scans of partitioned tables, which a job and its native plan share.
SET search_path = plan;
SET gpujoin.debug_force = on;
SET plan_cache_mode = force_generic_plan;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

CREATE TABLE sales (a int, b int8, v int, t text) PARTITION BY RANGE (b);
CREATE TABLE sales1 PARTITION OF sales FOR VALUES FROM (0) TO (300);
CREATE TABLE sales2 (v int, dropped int, t text, b int8 NOT NULL, a int);
ALTER TABLE sales2 DROP COLUMN dropped;
ALTER TABLE sales ATTACH PARTITION sales2 FOR VALUES FROM (300) TO (600);
CREATE TABLE sales3 PARTITION OF sales FOR VALUES FROM (600) TO (1000) PARTITION BY HASH (a);
CREATE TABLE sales3a PARTITION OF sales3 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE sales3b PARTITION OF sales3 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO sales SELECT g, g % 1000, g % 7, 't' || g % 10 FROM generate_series(1, 5000) g;
ANALYZE sales;

-- The statements run offloaded, then natively with the same plan, then in a new plan.
CREATE FUNCTION on_both(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    offloaded text;
    native text;
    plan jsonb;
    mode text;
    socket text := current_setting('gpujoin.socket');
    nodes text;
BEGIN
    EXECUTE 'PREPARE q AS SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM (' || query || ') x';
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON, COSTS OFF, TIMING OFF) EXECUTE q' INTO plan;
    SELECT string_agg(DISTINCT (n ->> 'Custom Plan Provider') || coalesce(' ' || (n ->> 'Fallback'), ''), ', ') INTO nodes
    FROM jsonb_path_query(plan, 'strict $.**?(exists(@."Custom Plan Provider"))') n;
    EXECUTE 'EXECUTE q' INTO offloaded;
    FOREACH mode IN ARRAY ARRAY['/nonexistent/socket', NULL] LOOP
        PERFORM set_config('gpujoin.socket', coalesce(mode, socket), true),
                set_config('gpujoin.enabled', CASE WHEN mode IS NULL THEN 'off' ELSE 'on' END, true);
        EXECUTE 'EXECUTE q' INTO native;
        IF native IS DISTINCT FROM offloaded THEN
            RETURN NEXT format('offloaded %s, native %s', offloaded, native);
        END IF;
    END LOOP;
    PERFORM set_config('gpujoin.socket', socket, true), set_config('gpujoin.enabled', 'on', true);
    DEALLOCATE q;
    PERFORM set_config('gpujoin.enabled', 'off', true);
    EXECUTE 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM (' || query || ') x' INTO native;
    PERFORM set_config('gpujoin.enabled', 'on', true);
    IF native IS DISTINCT FROM offloaded THEN
        RETURN NEXT format('offloaded %s, planned natively %s', offloaded, native);
    END IF;
    RETURN NEXT format('%s: %s', coalesce(nodes, 'native'), md5(offloaded));
END $$;

-- explained without and with both plans
EXPLAIN (COSTS OFF) SELECT d.name, sum(s.v) FROM sales s JOIN dim_b d ON s.b = d.id GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT d.name, s.t FROM sales s JOIN dim_b d ON s.b = d.id;
SET gpujoin.socket = '/nonexistent/socket';
EXPLAIN (COSTS OFF) SELECT d.name, s.t FROM sales s JOIN dim_b d ON s.b = d.id;
RESET gpujoin.socket;

-- the same for blocks, joins, and both with workers
CREATE VIEW cases AS SELECT * FROM (VALUES
    (1, 'SELECT d.name, sum(s.v) AS n FROM sales s JOIN dim_b d ON s.b = d.id GROUP BY 1'),
    (2, 'SELECT d.name, s.t FROM sales s JOIN dim_b d ON s.b = d.id'),
    -- a key that the scan converts, an expression that it computes
    (3, 'SELECT s.t, count(*) AS n FROM sales s JOIN dim_b d ON s.a = d.id GROUP BY 1'),
    (4, 'SELECT lower(s.t) AS l, count(*) AS n FROM sales s JOIN dim_b d ON s.b = d.id GROUP BY 1'),
    (5, 'SELECT s.a, coalesce(d.name, upper(s.t)) AS x FROM sales s LEFT JOIN dim_b d ON s.b = d.id AND d.id < 10'),
    -- no column, conditions, pruned partitions
    (6, 'SELECT count(*) AS n FROM sales s JOIN dim_b d ON s.b = d.id'),
    (7, 'SELECT d.name, sum(s.v) AS n FROM sales s JOIN dim_b d ON s.b = d.id WHERE s.v > 3 GROUP BY 1'),
    (8, 'SELECT d.name, sum(s.v) AS n FROM sales s JOIN dim_b d ON s.b = d.id WHERE s.b < (SELECT 400) GROUP BY 1'),
    -- the same table twice; below a subquery, a union, a join, another table's row
    (9, 'SELECT s.t, count(*) AS n FROM sales s JOIN sales r ON s.b = r.b GROUP BY 1'),
    (10, 'SELECT x.n, count(*) AS m FROM (SELECT d.id, sum(s.v) AS n FROM sales s JOIN dim_b d ON s.b = d.id GROUP BY 1 OFFSET 0) x JOIN dim_a ON dim_a.id = x.id GROUP BY 1'),
    (11, 'SELECT d.name, s.t FROM sales s JOIN dim_b d ON s.b = d.id UNION ALL SELECT d.name, s.t FROM sales s JOIN dim_a d ON s.b = d.id'),
    (12, 'SELECT d.id, l.n FROM (SELECT id FROM dim_a WHERE id <= 5) d, LATERAL (SELECT count(*) AS n FROM sales s JOIN dim_b b ON s.b = b.id AND s.a + b.id < d.id * 100) l'),
    (13, 'SELECT d.name FROM dim_b d WHERE EXISTS (SELECT FROM sales s WHERE s.b = d.id)'),
    (14, 'SELECT s.t, d.name FROM sales s FULL JOIN dim_b d ON s.b = d.id'),
    (15, 'SELECT s.t, d.name FROM sales s JOIN dim_b d ON s.b = d.id JOIN dim_a e ON e.id = s.b JOIN sales2 r ON r.b = e.id'),
    -- relation 1 of a subquery has the number of the table beside it
    (16, 'SELECT s.t, x.n FROM sales s JOIN (SELECT v, count(*) AS n FROM sales GROUP BY v OFFSET 0) x ON x.v = s.a')
) c (n, query);
SELECT n, b FROM cases, on_both(query) b ORDER BY n;

SET gpujoin.enable_aggregates = off;
SELECT n, b FROM cases, on_both(query) b ORDER BY n;
RESET gpujoin.enable_aggregates;

SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT d.name, sum(s.v) FROM sales s JOIN dim_b d ON s.b = d.id GROUP BY 1;
SELECT n, b FROM cases, on_both(query) b ORDER BY n;
SET gpujoin.enable_aggregates = off;
SELECT n, b FROM cases, on_both(query) b ORDER BY n;
RESET gpujoin.enable_aggregates;
SET parallel_leader_participation = off;
SELECT n, b FROM cases, on_both(query) b ORDER BY n;
RESET parallel_leader_participation;

-- a cursor that is rewound, on either plan
SET max_parallel_workers_per_gather = 0;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT s.v FROM sales s JOIN dim_b d ON s.b = d.id WHERE d.id <= 3 ORDER BY 1;
FETCH 2 FROM c;
FETCH ABSOLUTE 1 FROM c;
COMMIT;
-- a tree of the genetic search
SET geqo_threshold = 2;
SET geqo_seed = 0.5;
SELECT n, b FROM cases, on_both(query) b WHERE n IN (1, 15) ORDER BY n;
RESET geqo_threshold;

DROP VIEW cases;
DROP FUNCTION on_both;
DROP TABLE sales;
