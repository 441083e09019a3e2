-- SELECT DISTINCT as a block.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

EXPLAIN (COSTS OFF) SELECT DISTINCT d.label, extract(year FROM f.day), f.grp = 3 FROM fact f JOIN dim d ON f.dim = d.id WHERE f.flag ORDER BY 2, 1 LIMIT 3;
SELECT DISTINCT d.label, extract(year FROM f.day), f.grp = 3 FROM fact f JOIN dim d ON f.dim = d.id WHERE f.flag ORDER BY 2, 1 LIMIT 3;
SELECT block('SELECT DISTINCT grp FROM fact');
SELECT block('SELECT DISTINCT grp, small, 7 FROM fact');
SELECT block('SELECT DISTINCT word, code, name, flag, day, stamp, amount FROM fact');
SELECT block('SELECT DISTINCT grp AS a, grp AS b, id % 3 FROM fact');
SELECT block('SELECT DISTINCT label, price FROM fact f JOIN dim d ON f.dim = d.id AND f.id + d.id > 100 ORDER BY price DESC');
SELECT block('SELECT DISTINCT d.id, f.grp FROM dim d LEFT JOIN fact f ON f.dim = d.id AND f.small > 9');
SELECT block('SELECT DISTINCT grp FROM nothing');
SELECT block('SELECT count(*) FROM (SELECT DISTINCT dim, grp FROM fact) s JOIN dim d ON d.id = s.dim');
SELECT block('SELECT label FROM dim WHERE id IN (SELECT DISTINCT dim FROM fact WHERE id < 9)');
SELECT block('SELECT DISTINCT 100 / small FROM fact WHERE small > 0');
SELECT DISTINCT 100 / small FROM fact;
-- what stays native
SELECT block('SELECT DISTINCT ON (grp) grp, id FROM fact ORDER BY grp, id');
SELECT block('SELECT DISTINCT count(*), grp FROM fact GROUP BY grp');
SELECT block('SELECT DISTINCT f FROM fact');
SELECT block('SELECT DISTINCT wide FROM fact');
SELECT block('SELECT DISTINCT rank() OVER (ORDER BY grp) FROM fact');
SELECT block('SELECT DISTINCT generate_series(1, grp) FROM fact');
SELECT block('SELECT DISTINCT 1 FROM fact');
SELECT block('SELECT DISTINCT grp, random() < 2 FROM fact');
SELECT block('SELECT d.id, (SELECT DISTINCT grp FROM fact f WHERE f.dim = d.id AND f.id < 50) FROM dim d');
-- parallel
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT DISTINCT grp, day FROM fact;
SELECT block('SELECT DISTINCT grp, day FROM fact');
