-- min and max of floats: NaN follows all others, and the native plan tells -0 from 0.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
CREATE DOMAIN celsius AS float8;
CREATE TABLE measured (id int, grp int, f4 float4, f8 float8, c celsius, i int);
INSERT INTO measured SELECT g, g % 9,
    CASE g % 9 WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN '-Infinity' WHEN 4 THEN NULL WHEN 5 THEN 0 WHEN 6 THEN 1e-45 ELSE g / 7.0::float4 END,
    CASE g % 9 WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' WHEN 3 THEN 'Infinity' WHEN 4 THEN NULL WHEN 5 THEN -5e-324 WHEN 6 THEN g - 900.1 ELSE g / 7.0::float8 END,
    CASE WHEN g % 10 > 0 THEN (500 - g) * 1.1 END, 900 - g
FROM generate_series(1, 1800) g;
INSERT INTO measured SELECT -g, g % 9, g % 9, -g, NULL, g FROM generate_series(1, 30) g WHERE g % 9 <> 0;
INSERT INTO measured VALUES (NULL, NULL, 1.1, -1.1, 0, NULL);
ANALYZE measured;
EXPLAIN (COSTS OFF) SELECT grp, min(f4), max(f8) FROM measured GROUP BY grp;
SELECT grp, min(f4), max(f4), min(f8), max(f8), max(c) FROM measured GROUP BY grp ORDER BY grp;
SELECT block('SELECT grp, min(f4), max(f4), min(f8), max(f8), min(c), max(c), count(f8) FROM measured GROUP BY grp');
SELECT block('SELECT min(f4), max(f4), min(f8), max(f8) FROM measured');
SELECT block('SELECT min(f4), max(f8) FROM measured WHERE id > 5000');
SELECT block('SELECT grp, min(f8), max(c) FROM measured WHERE f8 IS NULL GROUP BY grp');
SELECT block('SELECT grp, max(f8) FILTER (WHERE i > 100), min(f4) FILTER (WHERE i IS NULL) FROM measured GROUP BY grp');
SELECT block('SELECT grp, max(i::float8), min(f4::float8), max(i::float4) FROM measured GROUP BY grp');
SELECT block('SELECT grp, id, max(f8), min(f4) FROM measured GROUP BY ROLLUP (grp, id)');
SELECT block('SELECT l.grp, max(r.f8), min(l.f4), min(r.c) FROM measured l LEFT JOIN measured r ON l.id = r.i AND r.grp > 4 GROUP BY l.grp');
SELECT block('SELECT l.grp, max(l.f8) FROM measured l WHERE EXISTS (SELECT FROM measured r WHERE l.f8 = r.f4) GROUP BY l.grp');
SELECT block('SELECT l.grp, max(s.x) FROM measured l LEFT JOIN (SELECT i, c::float8 AS x FROM measured) s ON s.i = l.id GROUP BY l.grp');
SELECT block('SELECT grp, max(f8) FROM measured GROUP BY grp HAVING max(f8) > 100');
-- -0 equals 0, but looks different
INSERT INTO measured VALUES (5001, 20, '-0', '-0', '-0', 1), (5002, 20, 0, 0, 0, 1);
SELECT block('SELECT grp, min(f4), max(f8) FROM measured WHERE id < 5000 GROUP BY grp');
SELECT block('SELECT grp, min(f4), max(f4) FROM measured GROUP BY grp');
SELECT block('SELECT grp, max(f8) FROM measured GROUP BY grp');
-- other expressions are not computed
SELECT block('SELECT grp, max(f8 * 2) FROM measured GROUP BY grp');
SELECT block('SELECT grp, max(DISTINCT f8) FROM measured GROUP BY grp');
-- parallel
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT block('SELECT grp, min(f4), max(f8) FROM measured WHERE id < 5000 GROUP BY grp');
DROP TABLE measured;
DROP DOMAIN celsius;
