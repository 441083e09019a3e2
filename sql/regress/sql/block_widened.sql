-- Numeric columns without a declared scale: their statistics say which scale is enough.
SET search_path = block;
SET gpujoin.force = on;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE loose (id int, grp int, n numeric, m numeric, few numeric(10,2), large numeric, special numeric, unknown numeric);
INSERT INTO loose SELECT g, g % 7, CASE g % 4 WHEN 0 THEN g WHEN 1 THEN g * 0.5 WHEN 2 THEN g * 0.25 ELSE -g * 1.000 END, CASE WHEN g % 5 > 0 THEN g % 13 * 1.10 END,
    g * 0.01, g * 1e20, CASE WHEN g % 500 = 0 THEN 'NaN'::numeric ELSE g END, NULL
FROM generate_series(1, 2000) g;
ANALYZE loose;
EXPLAIN (COSTS OFF) SELECT grp, sum(n), avg(n) FROM loose GROUP BY grp;
SELECT grp, sum(n), avg(n), sum(n) FILTER (WHERE id % 4 < 2), sum(m) FROM loose GROUP BY grp ORDER BY grp;
-- functions, filters, arithmetic: the number of decimals is that of PostgreSQL
SELECT block('SELECT grp, sum(n), avg(n), count(n), variance(n), stddev(n), var_pop(m), sum(m), avg(m) FROM loose GROUP BY grp');
SELECT block('SELECT id, sum(n), avg(n), sum(m), sum(n + m), sum(n * m), sum(n - few), sum(-n), sum(abs(n)), sum(n * 2), sum(n + 0.000000001) FROM loose GROUP BY id');
SELECT block('SELECT id, max(round(n, 1)), min(trunc(n)), max(n::numeric(12,1)), max(n::int), max(floor(m)), max(sign(n)) FROM loose GROUP BY id');
SELECT block('SELECT grp, sum(CASE WHEN n > 100 THEN n END), sum(coalesce(m, 0)), sum(coalesce(m, n)), count(*) FILTER (WHERE n > m), count(*) FILTER (WHERE m IN (1.1, 2.20)), count(*) FILTER (WHERE n = few), count(*) FILTER (WHERE n IS DISTINCT FROM m) FROM loose GROUP BY grp');
SELECT block('SELECT grp, sum(n) FROM loose GROUP BY ROLLUP (grp)');
SELECT block('SELECT round(n), count(*), sum(m) FROM loose GROUP BY 1');
SELECT block('SELECT l.grp, sum(l.n * r.n) FROM loose l JOIN loose r ON l.id = r.grp GROUP BY l.grp');
SELECT block('SELECT l.grp, sum(r.n) FROM loose l LEFT JOIN loose r ON l.id = r.grp AND r.n > l.m GROUP BY l.grp');
SELECT block('SELECT grp, sum(n) FROM loose GROUP BY grp HAVING sum(n) > 1000.5');
-- of equal values it is not known which one PostgreSQL shows
SELECT block('SELECT grp, min(n) FROM loose GROUP BY grp');
SELECT block('SELECT grp, sum(DISTINCT m) FROM loose GROUP BY grp');
SELECT block('SELECT n, count(*) FROM loose GROUP BY n');
-- no statistics, or values that do not fit
SELECT block('SELECT grp, sum(large), sum(unknown) FROM loose GROUP BY grp');
SELECT block('SELECT grp, sum(special) FROM loose GROUP BY grp');
SELECT block('SELECT grp, sum(special) FROM loose WHERE id < 500 GROUP BY grp');
INSERT INTO loose (id, grp, n) VALUES (2001, 1, 0.123456789012345678);
SELECT block('SELECT grp, sum(n) FROM loose GROUP BY grp');
UPDATE loose SET n = 1e17 WHERE id = 2001;
SELECT block('SELECT grp, sum(n) FROM loose GROUP BY grp');
UPDATE loose SET n = 'Infinity' WHERE id = 2001;
SELECT block('SELECT grp, sum(n) FROM loose GROUP BY grp');
-- parallel
DELETE FROM loose WHERE id = 2001;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT block('SELECT grp, sum(n), avg(m) FROM loose GROUP BY grp');
DROP TABLE loose;
