-- GROUPING SETS, ROLLUP and CUBE in a block.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE items AS SELECT * FROM fact WHERE id <= 5000;
ANALYZE items;

EXPLAIN (COSTS OFF) SELECT grp, label, count(*), sum(amount), grouping(grp, label) FROM items f JOIN dim d ON f.dim = d.id GROUP BY ROLLUP (grp, label) HAVING count(*) > 40 ORDER BY 5, 1, 2;
SELECT grp, flag, count(*), sum(amount), grouping(grp, flag) FROM items f JOIN dim d ON f.dim = d.id GROUP BY ROLLUP (grp, flag) HAVING count(*) > 400 ORDER BY 5, 1, 2;
EXPLAIN (COSTS OFF, FORMAT YAML) SELECT grp, label, max(day) FROM items f JOIN dim d ON f.dim = d.id GROUP BY GROUPING SETS (grp, label, ());
-- each function that can be combined
SELECT block('SELECT grp, flag, count(*), count(small), sum(amount), avg(amount), sum(small), avg(small), sum(big), avg(big), min(id), max(day), min(stamp), max(name), bool_and(flag), bool_or(flag), every(flag) FROM items GROUP BY CUBE (grp, flag)');
SELECT block('SELECT grp, sum(CASE WHEN small > 3 THEN amount ELSE 0 END), avg(CASE WHEN small > 30 THEN amount ELSE 0 END), sum(amount) FILTER (WHERE flag), count(*) FILTER (WHERE small > 30) FROM items GROUP BY ROLLUP (grp)');
-- keys of each type: columns, and expressions
SELECT block('SELECT grp, small, big, amount, rate, day, stamp, flag, word, code, name, count(*) FROM items GROUP BY GROUPING SETS (grp, small, big, amount, rate, day, stamp, flag, word, code, name)');
SELECT block('SELECT grp + 1, (grp + 1) * 2, extract(year FROM day), substr(word, 1, 6), count(*), grouping(grp + 1) FROM items GROUP BY CUBE (grp + 1, extract(year FROM day), substr(word, 1, 6))');
SELECT block('SELECT day, coalesce(day, date ''2000-01-01''), count(*) FROM items GROUP BY ROLLUP (day)');
-- NULL as a value and as a key that is not in the set; the same set twice
SELECT block('SELECT word, grouping(word), count(*) FROM items GROUP BY GROUPING SETS (word, word, (), ())');
SELECT block('SELECT word, code, count(*) FROM items GROUP BY DISTINCT ROLLUP (word), ROLLUP (word, code)');
-- keys that are in all sets, and columns that depend on them
SELECT block('SELECT d.id, d.label, d.price, grp, sum(amount) FROM items f JOIN dim d ON f.dim = d.id GROUP BY GROUPING SETS ((d.id, grp), (d.id))');
SELECT block('SELECT grp, label, small, count(*), grouping(small, grp, label), grouping(grp) FROM items f JOIN dim d ON f.dim = d.id GROUP BY grp, ROLLUP (label, small)');
-- no rows: only the sets without keys have a group
SELECT block('SELECT grp, word, count(*), count(word), sum(small), avg(amount), max(day), grouping(grp, word) FROM nothing GROUP BY GROUPING SETS ((grp, word), grp, (), ())');
SELECT block('SELECT grp, count(*) FROM nothing GROUP BY GROUPING SETS (grp, (grp, word))');
SELECT block('SELECT count(*), sum(small) FROM nothing GROUP BY GROUPING SETS ((), ())');
SELECT block('SELECT count(*), sum(small) FROM items WHERE id < 0 GROUP BY GROUPING SETS ((), ()) HAVING count(*) = 0');
SELECT block('SELECT count(*), sum(small) FROM nothing GROUP BY GROUPING SETS (())');
SELECT block('SELECT count(*), sum(small) FROM items GROUP BY GROUPING SETS (())');
-- conditions on groups, window functions, sorts and limits above
SELECT block('SELECT grp, word, sum(amount) FROM items GROUP BY ROLLUP (grp, word) HAVING grouping(word) = 0 AND sum(amount) > 1000 OR grp IS NULL');
SELECT block('SELECT grp, count(*), rank() OVER (PARTITION BY grouping(grp) ORDER BY count(*)) FROM items GROUP BY ROLLUP (grp)');
SELECT block('SELECT grp, word, count(*) FROM items GROUP BY ROLLUP (grp, word) ORDER BY grouping(grp, word), 3, 1, 2 LIMIT 5');
-- an error in the finest aggregation, and a sum that does not fit
SELECT grp, sum(id / small) FROM items GROUP BY ROLLUP (grp);
SELECT grp, sum(id / (id - 7)) FROM items GROUP BY ROLLUP (grp);
SELECT sum(big * 1000000000) FROM items GROUP BY ROLLUP (grp);
-- what stays native
SELECT block('SELECT grp, stddev(id) FROM items GROUP BY ROLLUP (grp)');
SELECT block('SELECT grp, count(DISTINCT small) FROM items GROUP BY ROLLUP (grp)');
SELECT block('SELECT wide, count(*) FROM items GROUP BY ROLLUP (wide)');
SELECT block('SELECT f, count(*) FROM items GROUP BY ROLLUP (f)');
SELECT block('SELECT DISTINCT count(*) FROM items GROUP BY ROLLUP (grp)');
SELECT block('SELECT grp, grouping(grp), count(*) FROM items GROUP BY GROUPING SETS (grp)');
SELECT block('SELECT grp AS a, grp AS b, count(*) FROM items GROUP BY a, ROLLUP (b)');
-- prepared statements, subqueries and CTEs
PREPARE rollup(int) AS SELECT grp, flag, count(*) FROM items WHERE id > $1 GROUP BY ROLLUP (grp, flag) ORDER BY 1, 2, 3;
SET plan_cache_mode = force_generic_plan;
EXECUTE rollup(4990);
EXECUTE rollup(5000);
RESET plan_cache_mode;
DEALLOCATE rollup;
SELECT block('SELECT * FROM (SELECT grp, count(*) AS n FROM items GROUP BY ROLLUP (grp)) s WHERE n > 700');
SELECT block('WITH s AS MATERIALIZED (SELECT grp, count(*) AS n FROM items GROUP BY ROLLUP (grp)) SELECT * FROM s JOIN dim ON s.grp = dim.id');
-- parallel
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT grp, label, count(*) FROM items f JOIN dim d ON f.dim = d.id GROUP BY CUBE (grp, label);
SELECT block('SELECT grp, label, count(*), sum(amount), grouping(label) FROM items f JOIN dim d ON f.dim = d.id GROUP BY CUBE (grp, label)');
SELECT block('SELECT grp, count(*) FROM nothing GROUP BY ROLLUP (grp)');
-- the statistics of both aggregations and of their join
CREATE FUNCTION aggregations_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        RETURN QUERY SELECT (regexp_match(line, 'Aggregate: .*, (\d+ groups, \d+ rows)'))[1] WHERE line ~ 'Aggregate: ';
    END LOOP;
END $$;
SELECT aggregations_of('SELECT grp, flag, count(*) FROM items GROUP BY CUBE (grp, flag)');
DROP FUNCTION aggregations_of;
DROP TABLE items;
