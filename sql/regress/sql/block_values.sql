-- Expressions whose result PostgreSQL shows, or refuses, in a way of its own.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE val (id int, g int, a numeric(12,2), b numeric(9,4), c numeric(6,0), d date, e date, n int);
INSERT INTO val SELECT g, g % 9, nullif(g % 11, 4) * 1.25, CASE WHEN g % 3 > 0 THEN g % 17 * 0.0125 END, nullif(g % 5, 1),
    date '2020-01-31' + g % 70, CASE WHEN g % 8 > 0 THEN date '1999-12-31' - g END, g % 40 - 20 FROM generate_series(1, 900) g;
ANALYZE val;
-- the number of decimals depends on the row, through arithmetic
SELECT x, block(format('SELECT g, sum(%1$s), avg(%1$s), var_pop(%1$s) FROM val GROUP BY g', x)) AS groups,
    block(format('SELECT id, sum(%1$s), stddev(%1$s) FROM val GROUP BY id', x)) AS rows
FROM unnest(ARRAY['a - coalesce(b, 0)', 'coalesce(b, 0) + a', 'a * coalesce(b, 1)', '-coalesce(b, c)', 'coalesce(b, c) * coalesce(a, 0) + c',
    'CASE WHEN n > 3 THEN a - coalesce(b, 0) ELSE 0 END', 'coalesce(a * b, c) - coalesce(c, 0.5)', '(a - coalesce(b, 0)) * (1 - coalesce(b, 0.25))']) x;
SELECT block('SELECT g, count(*) FILTER (WHERE a - coalesce(b, 0) > 2.5), bool_and(coalesce(b, c) * 2 < a) FROM val GROUP BY g');
-- days
SELECT block('SELECT d + n, d - n, count(*), max(e + n), min(d - e), sum(d - e), sum(e - 3 - d) FROM val GROUP BY 1, 2');
SELECT block('SELECT count(*) FROM val x JOIN val y ON x.id = y.id AND x.d > y.d + y.n - 3');
SELECT block('SELECT count(*) FROM val x LEFT JOIN val y ON x.g = y.g AND x.d - y.d = 7');
-- infinite dates, and dates out of range
INSERT INTO val (id, d, e, n) VALUES (1001, 'infinity', '-infinity', 1);
SELECT block('SELECT max(d + n), min(e - n) FROM val');
SELECT block('SELECT min(d - n), max(e + n) FROM val');
SELECT max(d - e) FROM val;
DELETE FROM val WHERE id > 1000;
INSERT INTO val (id, d, e, n) VALUES (1001, '5874897-12-31', '4714-11-24 BC', 1);
SELECT block('SELECT max(d - n), min(e + n), max(d - e) FROM val');
SELECT max(d + n) FROM val;
SELECT min(e - n) FROM val;
DROP TABLE val;
