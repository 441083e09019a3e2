-- Joins with a range of an ordered table: how many rows are expected.
CREATE SCHEMA surplus;
SET search_path = surplus;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
-- 54 years of days, stored in order; sales of 600 of these days, in no order
CREATE TABLE days (id int, day date, year int, month int, label text);
INSERT INTO days SELECT 5000 + g, date '1970-01-01' + g, extract(year FROM date '1970-01-01' + g),
    extract(month FROM date '1970-01-01' + g), 'day ' || g FROM generate_series(0, 19999) g;
CREATE TABLE down AS SELECT * FROM days ORDER BY id DESC;
CREATE TABLE mixed AS SELECT * FROM days ORDER BY hashint4(id);
CREATE TABLE sales (id int, day_id int, day date, amount int);
INSERT INTO sales SELECT g, 5000 + 15340 + abs(hashint4(g)) % 600, date '1970-01-01' + 15340 + abs(hashint4(g)) % 600, g % 100
FROM generate_series(1, 30000) g;
ANALYZE days, down, mixed, sales;

-- how the expected number of joined rows compares with the actual one
CREATE FUNCTION estimate(query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
    expected float8;
    actual float8;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN ' || query
    LOOP
        expected := coalesce(expected, substring(line FROM 'Join: .*rows=(\d+)')::float8);
    END LOOP;
    EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO actual;
    RETURN CASE WHEN expected > actual * 1.5 THEN 'too many' WHEN expected * 1.5 < actual THEN 'too few' ELSE 'about right' END;
END $$;
SELECT c AS condition, t AS "table",
    estimate(format('SELECT s.id, d.label FROM sales s JOIN %s d ON s.day_id = d.id WHERE %s', t, c)) AS by_id,
    estimate(format('SELECT s.id, d.label FROM sales s JOIN %s d ON s.day = d.day WHERE %s', t, c)) AS by_day
FROM unnest(ARRAY['d.year = 2012', '2012 = d.year AND d.month IN (3, 4)', 'd.year IN (2012, 2013)', 'd.day BETWEEN ''2012-06-01'' AND ''2012-06-30''',
    'd.day >= timestamp ''2012-05-03 00:00'' AND d.day < timestamp ''2012-05-04 00:00'' + interval ''2 month''', 'd.id BETWEEN 20400 AND 20700', 'd.year >= 2012',
    'true']) c, unnest(ARRAY['days', 'down']) t
ORDER BY t, c;
-- without the order, or outside of the range, as PostgreSQL expects it
SELECT estimate('SELECT s.id, d.label FROM sales s JOIN mixed d ON s.day_id = d.id WHERE d.year = 2012');
SELECT estimate('SELECT s.id, d.label FROM sales s JOIN days d ON s.day_id = d.id WHERE d.month = 3');
SELECT estimate('SELECT s.id, d.label FROM sales s JOIN days d ON s.day_id = d.id WHERE d.year = 1999');
SELECT estimate('SELECT s.id, d.label FROM sales s JOIN days d ON s.day_id = d.id WHERE d.year = 2012 AND d.year = 2013');
SELECT estimate('SELECT s.id, d.label FROM sales s JOIN days d ON s.day_id = d.id WHERE d.year = NULL OR d.year = 2012');
-- an aggregation over many rows of which few pass is worth a job
SET gpujoin.min_rows = 20000;
SET gpujoin.startup_cost = 0;
SET gpujoin.ns_cost = 0.00003;
RESET gpujoin.debug_force;
CREATE FUNCTION blocks(query text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN jsonb_array_length(jsonb_path_query_array(plan, '$.**?(@."Custom Plan Provider" == "OffloadBlock")'));
END $$;
SELECT blocks('SELECT sum(amount), count(*) FROM sales WHERE amount BETWEEN 3 AND 4'), blocks('SELECT sum(id), count(*) FROM days WHERE month = 4');
-- groups have no statistics: PostgreSQL expects one row of each side
CREATE FUNCTION joins(query text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN jsonb_array_length(jsonb_path_query_array(plan, '$.**?(@."Custom Plan Provider" == "OffloadJoin")'));
END $$;
SELECT joins('WITH g AS MATERIALIZED (SELECT id, day_id % 4 AS kind, amount % 5 AS class, sum(amount) AS total FROM sales GROUP BY 1, 2, 3)
    SELECT a.total, b.total FROM g a JOIN g b ON a.id = b.id WHERE a.kind = 1 AND a.class = 2 AND b.kind = 2 AND b.class = 3'),
    joins('SELECT a.total, b.total FROM (SELECT id, amount % 5 AS class, sum(amount) AS total FROM sales GROUP BY 1, 2 OFFSET 0) a
    JOIN (SELECT id, amount % 5 AS class, sum(amount) AS total FROM sales GROUP BY 1, 2 OFFSET 0) b ON a.id = b.id WHERE a.class = 1 AND b.class = 2');
-- rows of a CTE whose joins are underestimated; LIMIT bounds them
CREATE TABLE goods AS SELECT g AS id, g % 400 AS brand, g % 20 AS class, g % 10 AS category FROM generate_series(1, 10000) g;
CREATE UNIQUE INDEX ON sales (id);
ANALYZE goods;
SELECT l AS "limit", blocks(format('WITH same AS MATERIALIZED (SELECT g.id FROM goods g
    JOIN (SELECT brand, class, category FROM goods INTERSECT SELECT brand, class, category FROM goods) b USING (brand, class, category))
    SELECT day_id, sum(amount) FROM sales WHERE id IN (SELECT id FROM same %s) GROUP BY day_id', l))
FROM unnest(ARRAY['', 'LIMIT 10', 'LIMIT 100000']) l;
-- groups are joined by what identifies them, not by one of 200 values
SELECT joins('WITH g AS MATERIALIZED (SELECT id, amount % 5 AS kind, amount % 7 AS class, sum(amount) AS total FROM sales GROUP BY 1, 2, 3)
    SELECT a.id, a.total, b.total, c.total, d.total FROM g a JOIN g b ON a.id = b.id JOIN g c ON a.id = c.id JOIN g d ON a.id = d.id
    WHERE a.kind = 1 AND b.kind = 2 AND c.class = 3 AND d.class = 4 AND CASE WHEN a.total > 0 THEN b.total / a.total END > CASE WHEN c.total > 0 THEN d.total / c.total END') > 0 AS offloaded;
-- a native plan that returns its first rows early
SELECT l AS "limit", blocks(format('SELECT id, sum(amount) FROM sales GROUP BY id %s', l)) > 0 AS offloaded
FROM unnest(ARRAY['', 'LIMIT 10', 'LIMIT 29999']) l;
-- two columns identify an offer: whichever of the equal columns of vendor is compared
CREATE TABLE offers AS SELECT g AS part, (g * 7 + k) % 500 AS vendor, g % 10 AS price FROM generate_series(1, 5000) g, generate_series(0, 3) k;
CREATE TABLE vendors AS SELECT g AS id, g % 25 AS nation FROM generate_series(0, 499) g;
CREATE TABLE orders AS SELECT g AS id, part, vendor FROM generate_series(0, 1) k, LATERAL (SELECT row_number() OVER () + k * 20000 AS g, * FROM offers) o;
CREATE UNIQUE INDEX ON offers (part, vendor);
ANALYZE offers, vendors, orders;
SET gpujoin.debug_force = on;
SET join_collapse_limit = 1;
CREATE FUNCTION last_join(query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
    expected float8;
    actual float8;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN ' || query
    LOOP
        expected := coalesce(substring(line FROM 'Join: .*rows=(\d+)')::float8, expected);
    END LOOP;
    EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO actual;
    RETURN CASE WHEN expected > actual * 1.5 THEN 'too many' WHEN expected * 1.5 < actual THEN 'too few' ELSE 'about right' END;
END $$;
SELECT t AS tables, last_join(format('SELECT d.id, o.price, v.nation FROM %s WHERE o.part = d.part AND o.vendor = d.vendor AND v.id = o.vendor', t))
FROM unnest(ARRAY['orders d CROSS JOIN (offers o JOIN vendors v ON v.id = o.vendor)', 'offers o CROSS JOIN (orders d JOIN vendors v ON v.id = d.vendor)',
    'vendors v CROSS JOIN (orders d JOIN offers o ON o.part = d.part)']) t;
RESET join_collapse_limit;
-- processes of a parallel plan share a sort of rows that are more than PostgreSQL expects: a serial plan has to be
-- cheaper than them by what they save
RESET gpujoin.debug_force;
SET gpujoin.keep = off;
SET parallel_setup_cost = 1e9;
ALTER TABLE sales SET (parallel_workers = 2);
CREATE FUNCTION join_cost(workers int, query text) RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', workers::text, true);
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN jsonb_path_query_first(plan, '$.**?(@."Custom Plan Provider" == "OffloadJoin")."Total Cost"')::float8;
END $$;
SELECT workers, clause, join_cost(workers, query || ' ' || clause) > join_cost(workers, query) * 1.05 AS charged
FROM unnest(ARRAY[0, 2]) workers, unnest(ARRAY['ORDER BY amount', 'ORDER BY amount LIMIT 10']) clause,
    (VALUES ('SELECT amount, label FROM sales s JOIN days d ON s.day_id = d.id WHERE d.year = 2012')) v (query)
ORDER BY workers, clause;
SET client_min_messages = warning;
DROP SCHEMA surplus CASCADE;
