-- Keys of groups that are known when an execution starts: dates, parameters and subqueries that run once.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET datestyle = ISO;

CREATE TABLE b AS SELECT g AS id, g % 10 AS k, 'word ' || g % 3 AS word FROM generate_series(1, 3000) g;
CREATE TABLE c AS SELECT g AS id, g % 4 AS k FROM generate_series(0, 19) g;
ALTER TABLE b SET (parallel_workers = 2);
ANALYZE b, c;
CREATE VIEW dated AS SELECT current_date AS day, k, id FROM b;

CREATE TABLE queries (id serial, query text);
INSERT INTO queries (query) VALUES
('SELECT current_date, count(*) FROM b GROUP BY 1'),
('SELECT now(), k, sum(id) FROM b GROUP BY 1, 2'),
('SELECT statement_timestamp(), current_timestamp, k FROM b GROUP BY 1, 2, 3'),
('SELECT current_date + 1, date_trunc(''day'', now()), count(*) FROM b GROUP BY 1, 2'),
('SELECT now(), date_trunc(''day'', now()), count(*) FROM b GROUP BY 1, 2'),
('SELECT k FROM b GROUP BY k, current_date'),
('SELECT current_date - 7, max(id) FILTER (WHERE current_date > ''2020-01-01'') FROM b GROUP BY current_date'),
('SELECT current_date, count(*) FROM b GROUP BY 1 HAVING current_date > ''2020-01-01'' AND count(*) > 1'),
('SELECT current_date, count(*) FROM b WHERE k > 10 GROUP BY 1'),
('SELECT DISTINCT current_date FROM b'),
('SELECT DISTINCT current_date, k, now() FROM b'),
('SELECT current_date, k, count(*), grouping(k) FROM b GROUP BY ROLLUP (1, k)'),
('SELECT current_date, k, count(*) FROM b GROUP BY GROUPING SETS ((1), (2), (1, 2))'),
('SELECT current_date, k, count(*) FROM b GROUP BY CUBE (1, 2) HAVING count(*) > 300 OR k = 3'),
('SELECT (SELECT max(k) FROM c) AS m, sum(id) FROM b GROUP BY m'),
('SELECT (SELECT max(k) FROM c) AS m, k, sum(id + (SELECT max(k) FROM c)) FROM b GROUP BY m, k'),
('SELECT DISTINCT (SELECT k FROM c WHERE id = 30) AS m, k FROM b'),
('SELECT (SELECT max(k) FROM c) AS m, k, sum(id) FROM b GROUP BY ROLLUP (m, k)'),
('SELECT EXISTS (SELECT FROM c WHERE k = 3) AS e, count(*) FROM b GROUP BY e'),
('SELECT EXISTS (SELECT FROM c WHERE k = 30) AS e, k FROM b GROUP BY e, k'),
('SELECT (SELECT max(word) FROM b WHERE id < 9) AS w, count(*) FROM b GROUP BY w'),
('SELECT x.day, count(*) FROM (SELECT k, current_date AS day FROM b) x GROUP BY 1'),
('SELECT day, k, count(*) FROM dated GROUP BY 1, 2'),
('SELECT day, count(*) FROM dated GROUP BY ROLLUP (1)'),
('SELECT DISTINCT day FROM dated'),
('SELECT current_date, b.k, count(*) FROM b JOIN c ON b.k = c.id GROUP BY 1, 2'),
('SELECT d.day, c.k, count(*) FROM c LEFT JOIN dated d ON d.k = c.id GROUP BY 1, 2'),
('SELECT d.day, count(d.day), count(*) FROM c FULL JOIN (SELECT now() AS day, k FROM b) d ON d.k = c.id GROUP BY 1'),
('SELECT e, m, count(*) FROM (SELECT EXISTS (SELECT FROM c WHERE k = 3) AS e, (SELECT min(k) FROM c) AS m, k FROM b) s RIGHT JOIN c USING (k) GROUP BY 1, 2'),
('SELECT * FROM c, LATERAL (SELECT current_date, count(*) FROM b GROUP BY 1) s WHERE c.id < 3');

SELECT query, block(query) FROM queries ORDER BY id;

-- a join whose outputs equal its parameters
CREATE TABLE joins (id serial, query text);
INSERT INTO joins (query) VALUES
('SELECT current_date, b.id, c.id FROM b JOIN c ON b.k = c.k AND b.id + c.id > extract(year FROM current_date)'),
('SELECT d.day, d.id, c.id FROM c LEFT JOIN dated d ON d.k = c.k AND (d.day + d.id > current_date + 5 OR c.id = 3)'),
('SELECT d.day, d.id, c.id FROM c LEFT JOIN (SELECT current_date AS day, k, id FROM b) d ON d.k = c.k AND (d.day < current_date OR c.id + d.id > 9)'),
('SELECT s.m, s.id, c.id FROM c LEFT JOIN (SELECT (SELECT max(k) FROM c) AS m, k, id FROM b) s ON s.k = c.k AND s.id + c.id > (SELECT max(k) FROM c)'),
('SELECT s.m, s.id, c.id FROM c FULL JOIN (SELECT (SELECT max(k) FROM c) AS m, k, id FROM b) s ON s.m = c.k');
SELECT query, block(query) FROM joins ORDER BY id;

-- EXPLAIN names the parameters
EXPLAIN (COSTS OFF) SELECT current_date, k, count(*) FROM b GROUP BY 1, 2 HAVING current_date > '2020-01-01' AND count(*) > 1;
EXPLAIN (COSTS OFF) SELECT (SELECT max(k) FROM c) AS m, sum(id) FROM b GROUP BY m;

-- parameters of prepared statements and of functions, in generic plans: how they are executed, and how their rows differ
CREATE TABLE statements (id serial, query text);
INSERT INTO statements (query) VALUES
('SELECT $1 AS a, $2 AS t, sum(id) FROM b GROUP BY 1, 2'),
('SELECT $1 AS a, $1 + k AS s, k, count(*) FROM b GROUP BY 1, 2, 3 HAVING $1 > 1'),
('SELECT $1 AS a, k, count(*) FROM b GROUP BY ROLLUP (1, 2)'),
('SELECT DISTINCT $1 AS a, k FROM b'),
('SELECT $2 AS t, max(id) FROM b WHERE k > $1 GROUP BY 1'),
('SELECT $1 AS a, b.k FROM b JOIN c ON b.k = c.k AND b.id + c.id > $1 GROUP BY 1, 2');

CREATE FUNCTION generic(statement text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    given text;
    line text;
    node text := '';
    differ bigint;
    total bigint := 0;
BEGIN
    EXECUTE 'PREPARE generic(int, text) AS ' || statement;
    FOREACH given IN ARRAY ARRAY['4, ''x''', '0, ''word 1''', 'NULL, NULL'] LOOP
        FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE generic(%s)', given) LOOP
            node := node || coalesce(substring(line FROM 'OffloadBlock|Fallback.*') || ' ', '');
        END LOOP;
        EXECUTE format('CREATE TEMP TABLE offloaded AS EXECUTE generic(%s)', given);
        SET LOCAL gpujoin.enabled = off;
        EXECUTE format('CREATE TEMP TABLE native AS EXECUTE generic(%s)', given);
        SET LOCAL gpujoin.enabled = on;
        SELECT count(*) INTO differ FROM ((SELECT o::text FROM offloaded o EXCEPT ALL SELECT o::text FROM native o)
            UNION ALL (SELECT o::text FROM native o EXCEPT ALL SELECT o::text FROM offloaded o)) d;
        total := total + differ;
        DROP TABLE offloaded, native;
    END LOOP;
    DEALLOCATE generic;
    RETURN format('%s%s differ', node, total);
END $$;

CREATE FUNCTION per_day(day date) RETURNS TABLE (a date, n bigint) LANGUAGE plpgsql AS
    $$ BEGIN RETURN QUERY SELECT day, count(*) FROM b GROUP BY day; END $$;
CREATE FUNCTION per_key(x int) RETURNS TABLE (a int, n bigint) LANGUAGE plpgsql AS
    $$ DECLARE y int := x * 2; BEGIN RETURN QUERY SELECT y, count(*) FROM b WHERE k < 5 GROUP BY y, x; END $$;

SET plan_cache_mode = force_generic_plan;
SELECT query, generic(query) FROM statements ORDER BY id;
SELECT count(*), array_agg(DISTINCT (r.a, r.n)) FROM generate_series(1, 3) g, per_day(date '2020-02-01' + g) r;
RESET plan_cache_mode;
SELECT r.* FROM generate_series(1, 8) g, per_key(g) r;

CREATE TEMP TABLE target (a int, t text, day date);
INSERT INTO target SELECT 5, 'x', current_date FROM b GROUP BY current_date;
INSERT INTO target SELECT k, EXISTS (SELECT FROM c WHERE k = 3), now() FROM b WHERE k > 6 GROUP BY 1, 2, 3;
SELECT a, t, day = current_date AS today FROM target ORDER BY 1;

-- the same in parallel
SET max_parallel_workers_per_gather = 2;
SELECT query, block(query) FROM queries ORDER BY id;
SELECT query, block(query) FROM joins WHERE query !~ 'FULL' ORDER BY id;
SET plan_cache_mode = force_generic_plan;
SELECT query, generic(query) FROM statements ORDER BY id;
SELECT count(*), array_agg(DISTINCT (r.a, r.n)) FROM generate_series(1, 3) g, per_day(date '2020-02-01' + g) r;
RESET plan_cache_mode;
