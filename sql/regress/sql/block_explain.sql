-- EXPLAIN of each construct in a block.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
-- kinds of joins
EXPLAIN (COSTS OFF) SELECT d.label, sum(f.id) FROM fact f LEFT JOIN dim d ON f.dim = d.id AND d.price > f.amount GROUP BY d.label;
EXPLAIN (COSTS OFF) SELECT d.label, sum(f.id) FROM fact f FULL JOIN dim d ON f.dim = d.id GROUP BY d.label;
EXPLAIN (COSTS OFF) SELECT sum(d.price) FROM dim d WHERE EXISTS (SELECT FROM fact f WHERE f.dim = d.id AND f.small > d.price);
EXPLAIN (COSTS OFF) SELECT sum(d.price) FROM dim d WHERE NOT EXISTS (SELECT FROM fact f WHERE f.dim = d.id AND f.flag);
EXPLAIN (COSTS OFF) SELECT sum(f.id) FROM fact f JOIN dim d ON f.dim = d.id LEFT JOIN dim e ON e.id = f.small WHERE e.label IS NULL OR e.price < d.price;
-- keys, and columns that depend on them
EXPLAIN (COSTS OFF) SELECT d.id, d.label, d.price, count(*) FROM fact f JOIN dim d ON f.dim = d.id GROUP BY d.id;
EXPLAIN (COSTS OFF) SELECT extract(year FROM day), substring(word FROM 1 FOR 2), CASE WHEN small > 3 THEN 'big' ELSE 'small' END, count(*) FROM fact GROUP BY 1, 2, 3;
-- aggregates
EXPLAIN (COSTS OFF) SELECT count(*), count(word), count(DISTINCT grp), sum(DISTINCT small), avg(amount), min(day), max(name), bool_and(flag), stddev(id), var_pop(amount) FROM fact;
EXPLAIN (COSTS OFF) SELECT sum(amount * (1 - rate)) FILTER (WHERE flag AND day >= '2020-06-01'), sum(CASE WHEN word LIKE 'word 1%' THEN id % 7 ELSE 0 END), sum(coalesce(small, 0)) FROM fact;
-- HAVING in the daemon and above it
EXPLAIN (COSTS OFF) SELECT grp, sum(amount) FROM fact GROUP BY grp HAVING sum(amount) BETWEEN 10 AND 400000 AND grp IN (1, 2, 5);
EXPLAIN (COSTS OFF) SELECT grp, sum(amount) FROM fact GROUP BY grp HAVING avg(amount) > 3 AND count(*) > 2;
-- what PostgreSQL computes above the block
EXPLAIN (COSTS OFF, VERBOSE OFF) SELECT grp, round(sum(amount) / count(*), 2) AS mean, rank() OVER (ORDER BY sum(amount)) FROM fact GROUP BY grp ORDER BY mean LIMIT 2;
-- a block below a join, and a subquery that runs once
EXPLAIN (COSTS OFF) SELECT d.label, s.n FROM (SELECT dim, count(*) AS n FROM fact GROUP BY dim) s JOIN dim d ON d.id = s.dim AND s.n > (SELECT sum(small) FROM fact);
-- other formats
EXPLAIN (COSTS OFF, FORMAT YAML) SELECT grp, sum(f.id) FROM fact f JOIN dim d ON f.dim = d.id GROUP BY grp HAVING count(*) > 2;
-- parallel
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT d.label, sum(f.id) FROM fact f LEFT JOIN dim d ON f.dim = d.id AND d.price > f.amount GROUP BY d.label HAVING sum(f.id) > 3 ORDER BY 1;
