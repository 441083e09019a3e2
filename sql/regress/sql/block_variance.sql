-- Variances and standard deviations: the same text as PostgreSQL's.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE spread (id int, g int, s int2, i int4, b int8, n numeric(12,2), fine numeric(18,10), whole numeric(18,0), x float8);
SELECT setseed(0.25);
-- groups of one to nine rows, whose magnitudes and distances vary
INSERT INTO spread SELECT id, g, (random() * 20 - 10)::int2, (random() * p)::int4 + m, ((random() * p)::int4 + m)::int8 * m, (random() * p)::numeric(12,2),
    (random() * 99999999)::numeric(18,10) / (p + 1), 999999999999999000 - (random() * p)::int8, random()
FROM (SELECT row_number() OVER () AS id, g, (10 ^ (g % 9))::int AS p, (10 ^ (g % 10))::int8 % 1000000007 AS m FROM generate_series(1, 4000) g, generate_series(0, g % 9)) r;
INSERT INTO spread (id, g) VALUES (100001, 0), (100002, 0), (100003, 1);
INSERT INTO spread VALUES (100004, -1, 32767, 2147483647, 9223372036854775807, 9999999999.99, 99999999.9999999999, 999999999999999999, 1),
    (100005, -1, -32768, -2147483648, -9223372036854775808, -9999999999.99, -99999999.9999999999, -999999999999999999, 2),
    (100006, -2, 5, 5, 5, 5, 5, 5, 5), (100007, -2, 5, 5, 5, 5, 5, 5, 5), (100008, -2, 5, 5, 5, 5, 5, 5, 5);
ANALYZE spread;
EXPLAIN (COSTS OFF) SELECT g, stddev(i), var_pop(n) FILTER (WHERE i > 0) FROM spread GROUP BY g HAVING stddev(i) > 3;
SELECT c, block(format('SELECT g, stddev(%1$s), stddev_pop(%1$s), stddev_samp(%1$s), variance(%1$s), var_pop(%1$s), var_samp(%1$s) FROM spread GROUP BY g', c)) FROM unnest(ARRAY['s', 'i', 'b', 'n', 'fine', 'whole']) c;
SELECT c, block(format('SELECT stddev(%1$s), stddev_pop(%1$s), variance(%1$s), var_pop(%1$s), avg(%1$s), sum(%1$s) FROM spread', c)) FROM unnest(ARRAY['s', 'i', 'b', 'n', 'fine', 'whole']) c;
SELECT block('SELECT stddev(i), var_pop(i), stddev_pop(n), variance(n) FROM spread WHERE g = 0');
SELECT block('SELECT stddev(i), var_pop(i), stddev_pop(n), variance(n) FROM spread WHERE id = 1');
SELECT block('SELECT stddev(i), var_pop(i), stddev_pop(n), variance(n) FROM spread WHERE id < 0');
-- square roots whose next digits are 4999...: rounding them twice would round up
CREATE TABLE two AS SELECT k, x FROM generate_series(100000, 160000, 3) k, unnest(ARRAY[0, k::int8]) x;
ANALYZE two;
SELECT block('SELECT k, stddev(x) FROM two GROUP BY k');
DROP TABLE two;
-- expressions, filters and scales that depend on the row
SELECT block('SELECT g % 100, stddev(i - s), var_pop(n * 2.5) FILTER (WHERE i > 100), variance(coalesce(CASE WHEN s > 0 THEN n END, 1)), stddev(CASE WHEN s > 99 THEN n ELSE 3 END) FROM spread GROUP BY 1');
SELECT block('SELECT g, stddev(i) FROM spread GROUP BY g HAVING stddev(i) > 3 AND var_pop(n) < 1000 AND count(*) > 2');
-- what stays native
SELECT block('SELECT stddev(x), var_pop(x), corr(x, i), regr_slope(x, i) FROM spread');
SELECT block('SELECT stddev(DISTINCT i), sum(i) FROM spread');
DROP TABLE spread;
