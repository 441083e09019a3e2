-- Keys of groups that a condition makes equal to a constant, a parameter or another key.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;

CREATE TABLE p AS SELECT g AS id, g % 10 AS k, g % 3 AS m, ('n' || g % 10)::text AS t FROM generate_series(1, 3000) g;
CREATE TABLE days AS SELECT g AS id, g AS day, 'day ' || g AS label FROM generate_series(0, 99) g;
CREATE TABLE named (id int PRIMARY KEY, name text);
INSERT INTO named SELECT g, 'name ' || g FROM generate_series(0, 9) g;
CREATE TABLE x AS SELECT (g % 5)::numeric AS n, g AS id FROM generate_series(1, 40) g;
CREATE TABLE y AS SELECT (g % 5 || '.00')::numeric AS n, g AS id FROM generate_series(1, 40) g;
ALTER TABLE p SET (parallel_workers = 2);
ANALYZE p, days, named, x, y;

-- each with a value that rows have, and with one that none has
CREATE TABLE pinned (id serial, query text);
INSERT INTO pinned (query) VALUES
('SELECT count(*), sum(id) FROM p WHERE k = %s GROUP BY k'),
('SELECT k, count(*), sum(id) FROM p WHERE k = %s GROUP BY k'),
('SELECT k, m, count(*) FROM p WHERE k = %s GROUP BY k, m'),
('SELECT k, m, count(*) FROM p WHERE k = %s AND m = k GROUP BY k, m'),
('SELECT k, max(id) FROM p WHERE k = %s GROUP BY k HAVING count(*) > 1'),
('SELECT count(*) FROM p WHERE k = %s GROUP BY k HAVING count(*) < 5'),
('SELECT DISTINCT k FROM p WHERE k = %s'),
('SELECT DISTINCT k, m FROM p WHERE k = %s'),
('SELECT d.day, count(*) FROM p JOIN days d ON p.m = d.id WHERE d.day = %s GROUP BY d.day'),
('SELECT d.day, p.k, count(*) FROM p JOIN days d ON p.m = d.id AND p.k = d.day WHERE d.day = %s GROUP BY d.day, p.k'),
('SELECT DISTINCT d.day, p.k FROM p JOIN days d ON p.m = d.id WHERE d.day = %s'),
('SELECT d.day, d.label, count(*) FROM p JOIN days d ON p.m = d.id WHERE d.day = %s GROUP BY d.day, d.label'),
('SELECT n.id, n.name, p.k, count(*) FROM p JOIN named n ON p.k = n.id WHERE n.id >= %s GROUP BY n.id, n.name, p.k'),
('SELECT * FROM (SELECT k, count(*) AS n FROM p GROUP BY k) s WHERE k = %s'),
('SELECT day FROM days WHERE day NOT IN (SELECT max(id) FROM p WHERE k = %s GROUP BY k)'),
('SELECT day FROM days WHERE day NOT IN (SELECT DISTINCT k FROM p WHERE k = %s)'),
('SELECT ''x'' AS a, count(*) FROM p WHERE m > %s GROUP BY ''x''::text'),
('SELECT DISTINCT 1 FROM p WHERE m > %s'),
('SELECT k, m, count(*) FROM p WHERE k = %s GROUP BY ROLLUP (k, m)');

SELECT query, block(format(query, 1)) AS some, block(format(query, 5000)) AS none FROM pinned ORDER BY id;
-- the value is a parameter
SELECT query, block(format(query, '(SELECT 1)')) AS some, block(format(query, '(SELECT 5000)')) AS none FROM pinned ORDER BY id;

CREATE FUNCTION generic_pinned(statement text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    given int;
    rows text := '';
    offloaded text;
    native text;
BEGIN
    EXECUTE format('PREPARE pinned(int) AS SELECT coalesce(string_agg(s::text, '';'' ORDER BY s::text), ''none'') FROM (%s) s', format(statement, '$1'));
    FOREACH given IN ARRAY ARRAY[1, 5000, NULL] LOOP
        EXECUTE format('EXECUTE pinned(%L)', given) INTO offloaded;
        SET LOCAL gpujoin.enabled = off;
        EXECUTE format('EXECUTE pinned(%L)', given) INTO native;
        SET LOCAL gpujoin.enabled = on;
        rows := rows || CASE WHEN offloaded = native THEN 'same ' ELSE format('%s instead of %s ', offloaded, native) END;
    END LOOP;
    DEALLOCATE pinned;
    RETURN rows;
END $$;
SET plan_cache_mode = force_generic_plan;
SELECT query, generic_pinned(query) FROM pinned ORDER BY id;
RESET plan_cache_mode;

-- equal values may look different: each key is shown as its own rows have it
SELECT block('SELECT x.n, y.n AS other, count(*) FROM x JOIN y ON x.n = y.n GROUP BY x.n, y.n');
SELECT x.n, y.n, count(*) FROM x JOIN y ON x.n = y.n GROUP BY x.n, y.n ORDER BY 1;
SELECT block('SELECT DISTINCT x.n, y.n AS other FROM x JOIN y ON x.n = y.n');
SELECT block('SELECT y.n, count(*) FROM y WHERE y.n = 3 GROUP BY y.n');

-- what depends on a primary key is no key
EXPLAIN (COSTS OFF) SELECT n.id, n.name, count(*) FROM p JOIN named n ON p.k = n.id GROUP BY n.id, n.name;

-- in parallel
SET max_parallel_workers_per_gather = 2;
SELECT query, block(format(query, 1)) AS some, block(format(query, 5000)) AS none FROM pinned ORDER BY id;
SET plan_cache_mode = force_generic_plan;
SELECT query, generic_pinned(query) FROM pinned ORDER BY id;
RESET plan_cache_mode;
