-- sum and avg of floats: only with gpujoin.float_aggregates; exact for integers.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
CREATE DOMAIN weight AS float8;
CREATE TABLE weighed (id int, grp int, f4 float4, f8 float8, w weight, i int, kind text);
INSERT INTO weighed SELECT g, g % 11, CASE WHEN g % 7 > 0 THEN g % 1000 - 300 END, CASE WHEN g % 5 > 0 THEN (g - 900)::float8 * 1024 END,
    g * 0.25, g % 50, CASE WHEN g % 3 = 0 THEN 'a' ELSE 'b' END
FROM generate_series(1, 3000) g;
INSERT INTO weighed SELECT g, 11, NULL, NULL, NULL, g, NULL FROM generate_series(1, 3) g;
ANALYZE weighed;
-- off
SHOW gpujoin.float_aggregates;
SET gpujoin.explain_rejected = on;
SELECT block('SELECT grp, sum(f8) FROM weighed GROUP BY grp');
SELECT block('SELECT avg(f4), min(f4) FROM weighed');
SET gpujoin.explain_rejected = off;
SET gpujoin.float_aggregates = on;
EXPLAIN (COSTS OFF) SELECT grp, sum(f4), sum(f8), avg(f8) FROM weighed GROUP BY grp HAVING avg(f4) > 0;
SELECT grp, sum(f4), sum(f8), avg(f4), avg(f8), avg(w) FROM weighed GROUP BY grp ORDER BY grp;
SELECT block('SELECT grp, sum(f4), sum(f8), avg(f4), avg(f8), sum(w), avg(w), count(f8), min(f8), max(f4) FROM weighed GROUP BY grp');
SELECT block('SELECT sum(f4), sum(f8), avg(f4), avg(f8) FROM weighed');
SELECT block('SELECT id, sum(f4), sum(f8), avg(f4), avg(f8) FROM weighed GROUP BY id');
SELECT block('SELECT sum(f4), avg(f8), count(*) FROM weighed WHERE id > 5000');
SELECT block('SELECT grp, sum(f8), avg(f4) FROM weighed WHERE f8 IS NULL AND f4 IS NULL GROUP BY grp');
SELECT block('SELECT grp, sum(f8) FILTER (WHERE i > 25), avg(f4) FILTER (WHERE kind = ''a'') FROM weighed GROUP BY grp');
SELECT block('SELECT grp, sum(f8) FROM weighed GROUP BY grp HAVING sum(f8) > 0 AND avg(f4) < 300');
SELECT block('SELECT grp, sum(f8) + 1, avg(f4) / 2, sum(f8) / count(f8) FROM weighed GROUP BY grp ORDER BY sum(f8)');
-- casts, CASE, COALESCE
SELECT block('SELECT grp, sum(i::float8), avg(i::float4), sum(f4::float8), avg(f4::float8) FROM weighed GROUP BY grp');
SELECT block('SELECT grp, sum(CASE WHEN kind = ''a'' THEN f8 ELSE 0 END), avg(CASE WHEN i < 10 THEN f4 WHEN i < 20 THEN 2.5 END), sum(CASE WHEN f8 > 0 THEN w ELSE f8 END) FROM weighed GROUP BY grp');
SELECT block('SELECT grp, sum(coalesce(f8, 1)), sum(coalesce(f8, f4, i, -0.5)), avg(coalesce(f4, ''NaN'')) FROM weighed GROUP BY grp');
-- joins
SELECT block('SELECT l.grp, sum(r.f8), avg(l.f4), sum(r.w) FROM weighed l LEFT JOIN weighed r ON l.id = r.i AND r.grp > 4 GROUP BY l.grp');
SELECT block('SELECT l.kind, avg(s.x) FROM weighed l LEFT JOIN (SELECT i, f4::float8 AS x FROM weighed) s ON s.i = l.id GROUP BY l.kind');
-- values that are not finite; -0
CREATE TABLE odd (id int, f4 float4, f8 float8);
INSERT INTO odd VALUES (1, 'Infinity', 'Infinity'), (1, 5, 5), (2, '-Infinity', '-Infinity'), (2, 1, 1), (3, 'NaN', 'NaN'), (3, 7, 7), (4, 'Infinity', '-Infinity'), (4, '-Infinity', 'Infinity'),
    (5, '-0', '-0'), (5, '-0', '-0'), (6, '-0', 0), (6, 0, '-0'), (7, 1.5, 1.5), (7, -1.5, -1.5), (8, NULL, NULL), (9, 1e-45, 5e-324), (9, 1e-45, 5e-324), (10, '-Infinity', 'NaN'), (10, 'NaN', 'Infinity');
SELECT id, sum(f4), sum(f8), avg(f4), avg(f8) FROM odd GROUP BY id ORDER BY id;
SELECT block('SELECT id, sum(f4), sum(f8), avg(f4), avg(f8) FROM odd GROUP BY id');
SELECT block('SELECT sum(f4), sum(f8), avg(f4), avg(f8) FROM odd');
-- out of range: the native plan raises the error or returns the result
CREATE TABLE large (id int, f4 float4, f8 float8);
INSERT INTO large VALUES (1, 3e38, 1.7e308), (1, 3e38, 1.7e308), (2, 3e38, 1.7e308), (2, -3e38, -1.7e308), (3, 1, 1e200);
SELECT sum(f8) FROM large WHERE id = 1;
SELECT sum(f4) FROM large WHERE id = 1;
SELECT avg(f8) FROM large WHERE id = 1;
SELECT avg(f8) FROM large WHERE id = 2;
-- far apart, and the largest values cancel each other out
SELECT block('SELECT sum(f4), avg(f4) FROM large WHERE id > 1');
SELECT block('SELECT sum(f8) FROM large WHERE id > 1');
SELECT block('SELECT sum(f8), sum(f4) FROM large WHERE id = 2');
SELECT block('SELECT avg(f4) FROM large');
SELECT block('SELECT avg(f8) FROM large WHERE id = 3');
-- adding in any order, without loss where PostgreSQL's order loses digits
CREATE TABLE lost AS SELECT g AS id, CASE g % 3 WHEN 0 THEN 1e17 WHEN 1 THEN 1 ELSE -1e17 END::float8 AS f8, 0.1::float4 AS f4 FROM generate_series(0, 2999) g;
SELECT sum(f8), avg(f8), sum(f4), avg(f4) FROM lost;
-- what stays native
SET gpujoin.explain_rejected = on;
SELECT block('SELECT sum(f8 * 2) FROM weighed');
SELECT block('SELECT sum(DISTINCT f8) FROM weighed');
SELECT block('SELECT sum(f8 ORDER BY id) FROM weighed');
SELECT block('SELECT stddev(i::float8) FROM weighed');
SELECT block('SELECT grp, kind, sum(f8) FROM weighed GROUP BY ROLLUP (grp, kind)');
SELECT block('SELECT sum(CASE w WHEN 0.25 THEN f8 END) FROM weighed');
SET gpujoin.verify = on;
SELECT block('SELECT sum(f8) FROM weighed');
RESET gpujoin.verify;
RESET gpujoin.explain_rejected;
-- parallel
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT block('SELECT grp, sum(f4), sum(f8), avg(f4), avg(f8) FROM weighed GROUP BY grp');
SELECT block('SELECT sum(f4), avg(f8) FROM weighed');
DROP TABLE weighed, odd, large, lost;
DROP DOMAIN weight;
