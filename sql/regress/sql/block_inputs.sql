-- Inputs of jobs that are not tables. Each is planned twice: as a feed, and in the native plan.
SET search_path = block;
SET gpujoin.debug_force = on;
SET gpujoin.explain_rejected = on;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE parted (id int, v int, t text) PARTITION BY RANGE (id);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (300);
CREATE TABLE parted2 PARTITION OF parted FOR VALUES FROM (300) TO (5000);
INSERT INTO parted SELECT g, g % 40, 'word ' || g % 9 FROM generate_series(1, 900) g;
ANALYZE parted;

-- CTEs: self joins of one, each input with a position of its own
EXPLAIN (COSTS OFF) WITH w AS MATERIALIZED (SELECT dim, grp, sum(rate) AS s FROM fact GROUP BY dim, grp)
SELECT x.dim, x.s, y.s, z.s FROM w x JOIN w y ON x.dim = y.dim AND x.grp = 1 AND y.grp = 2 JOIN w z ON z.dim = x.dim AND z.grp = 4
WHERE x.s / y.s < z.s;
SELECT block('WITH w AS MATERIALIZED (SELECT dim, grp, sum(rate) AS s FROM fact GROUP BY dim, grp)
SELECT x.dim, x.s, y.s, z.s FROM w x JOIN w y ON x.dim = y.dim AND x.grp = 1 AND y.grp = 2 JOIN w z ON z.dim = x.dim AND z.grp = 4
WHERE x.s / y.s < z.s');
SELECT block('WITH w AS MATERIALIZED (SELECT * FROM fact) SELECT word, count(*), sum(rate) FROM w GROUP BY word');
SELECT block('WITH w AS MATERIALIZED (SELECT id % 20 AS k, count(*) AS n FROM fact GROUP BY 1)
SELECT d.label, w.n, v.n FROM dim d LEFT JOIN w ON w.k = d.id FULL JOIN w v ON v.k = w.k AND v.k = d.id');
-- ... volatile ones are executed once
WITH w AS MATERIALIZED (SELECT id, random() AS r FROM fact)
SELECT count(*), count(*) FILTER (WHERE x.r = y.r) FROM w x JOIN w y USING (id);
-- ... of an outer query, and of a subquery
SELECT block('WITH w AS MATERIALIZED (SELECT id % 50 AS k, small FROM fact)
SELECT d.id, (SELECT count(*) FROM w JOIN fact f ON f.id = w.k WHERE w.small = d.id % 11) FROM dim d');
EXPLAIN (COSTS OFF) SELECT * FROM dim d JOIN (WITH w AS MATERIALIZED (SELECT dim, max(day) AS day FROM fact GROUP BY dim)
    SELECT w.dim, v.day FROM w JOIN w v USING (dim) OFFSET 0) s ON s.dim = d.id;
SELECT block('SELECT * FROM dim d JOIN (WITH w AS MATERIALIZED (SELECT dim, max(day) AS day FROM fact GROUP BY dim)
    SELECT w.dim, v.day FROM w JOIN w v USING (dim) OFFSET 0) s ON s.dim = d.id');
-- ... that change rows
CREATE TABLE changed (id int, n int);
WITH w AS (INSERT INTO changed SELECT id, dim FROM fact WHERE id < 100 RETURNING id, n)
SELECT count(*), sum(w.n + d.id) FROM w JOIN dim d ON d.id = w.n LEFT JOIN changed c ON c.id = w.id;
SELECT count(*) FROM changed;
DROP TABLE changed;
-- recursive: the result is an input, the working table is not
EXPLAIN (COSTS OFF) WITH RECURSIVE r AS (SELECT 1 AS id, 7 AS up UNION ALL SELECT f.id, f.dim FROM r JOIN fact f ON f.id = r.up + r.id)
SELECT count(*) FROM r JOIN dim d ON d.id = r.up;
SELECT block('WITH RECURSIVE r AS (SELECT 1 AS id, 7 AS up UNION ALL SELECT f.id, f.dim FROM r JOIN fact f ON f.id = r.up + r.id)
SELECT count(*), sum(r.up) FROM r JOIN dim d ON d.id = r.up');

-- lists of values, functions
EXPLAIN (COSTS OFF) SELECT * FROM fact f JOIN (VALUES (1, 'a'), (2, NULL), (3, 'c')) v(k, x) ON f.dim = v.k;
SELECT block('SELECT f.id, v.* FROM fact f JOIN (VALUES (1, ''a''), (2, NULL), (3, ''c'')) v(k, x) ON f.dim = v.k');
SELECT block('SELECT v.k, count(*) FROM fact f RIGHT JOIN (VALUES ((SELECT min(dim) FROM fact), 5), (77, 6)) v(k, x) ON f.dim = v.k GROUP BY v.k');
EXPLAIN (COSTS OFF) SELECT * FROM fact f JOIN generate_series(1, 9, 2) s(k) ON f.dim = s.k;
SELECT block('SELECT f.id, s.* FROM fact f JOIN ROWS FROM (generate_series(1, 9, 2), unnest(ARRAY[''x'', NULL])) WITH ORDINALITY s(k, x, n) ON f.dim = s.k');
SELECT block('SELECT s.v, count(*), sum(f.rate) FROM fact f JOIN jsonb_to_recordset(''[{"k": 1, "v": "one"}, {"k": 2}]'') AS s(k int, v text) ON f.dim = s.k GROUP BY s.v');
-- ... volatile ones would be executed twice
CREATE FUNCTION unsteady(int) RETURNS SETOF int LANGUAGE plpgsql ROWS 1000 AS 'BEGIN RETURN QUERY SELECT generate_series(1, $1); END';
EXPLAIN (COSTS OFF) SELECT * FROM fact f JOIN unsteady(9) s(k) ON f.dim = s.k;
EXPLAIN (COSTS OFF) SELECT * FROM fact f JOIN (VALUES (1, random()), (2, 0)) v(k, x) ON f.dim = v.k;
-- ... lateral
EXPLAIN (COSTS OFF) SELECT * FROM dim d, generate_series(d.id, d.id + 1) s(k) WHERE s.k = d.id;

-- set operations
EXPLAIN (COSTS OFF) SELECT u.label, count(*) FROM (SELECT id, label FROM dim UNION ALL SELECT id, t FROM parted UNION ALL SELECT 5, 'five') u
    JOIN fact f ON f.dim = u.id GROUP BY u.label;
SELECT block('SELECT u.label, count(*) FROM (SELECT id, label FROM dim UNION ALL SELECT id, t FROM parted UNION ALL SELECT 5, ''five'') u
    JOIN fact f ON f.dim = u.id GROUP BY u.label');
SELECT block('SELECT u.* FROM (SELECT dim, count(*) AS n FROM fact GROUP BY dim UNION ALL SELECT v, max(id) FROM parted GROUP BY v) u JOIN dim d ON u.dim = d.id');
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT id FROM dim EXCEPT SELECT dim FROM fact UNION SELECT v FROM parted) u JOIN dim d USING (id);
SELECT block('SELECT * FROM (SELECT id FROM dim EXCEPT SELECT dim FROM fact UNION SELECT v FROM parted) u JOIN dim d USING (id)');
SELECT block('SELECT * FROM (SELECT id, label FROM dim INTERSECT SELECT id, label FROM dim WHERE price > 20) u JOIN fact f ON f.dim = u.id');
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT 1 AS id, random() AS r UNION ALL SELECT 2, 0) u JOIN dim d USING (id);

-- partitions and subqueries below a subquery
EXPLAIN (COSTS OFF) SELECT d.label, s.n FROM dim d JOIN (SELECT v, count(*) AS n, min(t COLLATE "C") AS t FROM parted GROUP BY v) s ON s.v = d.id;
SELECT block('SELECT d.label, s.* FROM dim d JOIN (SELECT v, count(*) AS n, min(t COLLATE "C") AS t FROM parted GROUP BY v) s ON s.v = d.id');
SELECT block('SELECT d.label, s.* FROM dim d JOIN (SELECT v, id, row_number() OVER (PARTITION BY v ORDER BY id) AS r FROM parted) s ON s.v = d.id');
EXPLAIN (COSTS OFF) SELECT * FROM dim d JOIN (SELECT id, t FROM parted ORDER BY id LIMIT 50) s USING (id);
SELECT block('SELECT * FROM dim d JOIN (SELECT id, t FROM parted ORDER BY id LIMIT 50) s USING (id)');
SELECT block('SELECT * FROM dim d JOIN (SELECT p.id, (SELECT max(f.day) FROM fact f WHERE f.dim = p.v) AS day, (SELECT count(*) FROM fact) AS n FROM parted p OFFSET 0) s USING (id)');
SELECT block('SELECT * FROM dim d JOIN (SELECT p.id FROM parted p WHERE p.v IN (SELECT small FROM fact OFFSET 0) OR p.id < 10 OFFSET 0) s USING (id)');
SELECT block('SELECT d.id, (SELECT count(*) FROM fact f JOIN (SELECT p.id FROM parted p WHERE p.v = d.id OFFSET 0) s ON s.id = f.dim) FROM dim d');
SELECT block('SELECT * FROM dim d JOIN (SELECT generate_series(1, 3) AS g, max(dim) AS k FROM fact) s ON s.g = d.id');
SELECT block('SELECT * FROM dim d JOIN (SELECT 3 AS k, ''x'' || now() AS x) s ON s.k = d.id');
-- a text that an aggregate returned, as a key beside one of a table
SELECT block('SELECT f.word, s.n, count(*) FROM fact f JOIN (SELECT max(word COLLATE "C") AS w, count(*) AS n FROM fact GROUP BY grp) s ON s.w = f.word COLLATE "C" GROUP BY f.word, s.n');
SELECT block('SELECT d.id, s.w FROM dim d JOIN (SELECT dim, max(word COLLATE "C") AS w FROM fact GROUP BY dim) s ON s.dim = d.id JOIN fact f ON f.word COLLATE "C" = s.w AND f.dim = d.id');
-- ... that cannot be planned twice
EXPLAIN (COSTS OFF) SELECT * FROM dim d JOIN (SELECT grp, word, count(*) AS n FROM fact GROUP BY ROLLUP (grp, word)) s ON s.grp = d.id;
EXPLAIN (COSTS OFF) SELECT * FROM fact f JOIN (SELECT max(id) AS id FROM dim) s ON s.id = f.dim;
EXPLAIN (COSTS OFF) SELECT * FROM dim d JOIN (SELECT p.id, EXISTS (SELECT FROM fact f WHERE f.dim = p.v) AS e FROM parted p OFFSET 0) s USING (id);
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpujoin.enable_aggregates = off;
ALTER TABLE fact SET (parallel_workers = 2);
EXPLAIN (COSTS OFF) SELECT * FROM dim d JOIN (WITH w AS MATERIALIZED (SELECT dim, day FROM fact WHERE id % 2 = 0) SELECT * FROM w LIMIT 7) s ON s.dim = d.id;
-- ... but a CTE of the query has its own workers, whichever plan reads it
EXPLAIN (COSTS OFF) WITH w AS MATERIALIZED (SELECT dim, day FROM fact WHERE id % 2 = 0) SELECT * FROM dim d JOIN (SELECT * FROM w OFFSET 0) s ON s.dim = d.id;
SELECT block('WITH w AS MATERIALIZED (SELECT dim, day FROM fact WHERE id % 2 = 0) SELECT * FROM dim d JOIN (SELECT * FROM w OFFSET 0) s ON s.dim = d.id');
ALTER TABLE fact RESET (parallel_workers);
RESET gpujoin.enable_aggregates;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;
-- samples: with a seed the same rows
EXPLAIN (COSTS OFF) SELECT count(*) FROM dim d JOIN fact f TABLESAMPLE BERNOULLI (50) REPEATABLE (7) ON f.dim = d.id;
SELECT block('SELECT d.id, f.id FROM dim d JOIN fact f TABLESAMPLE BERNOULLI (50) REPEATABLE (7) ON f.dim = d.id');
EXPLAIN (COSTS OFF) SELECT count(*) FROM dim d JOIN fact f TABLESAMPLE SYSTEM (50) ON f.dim = d.id;

-- expressions that outer joins make NULL: the input's plan computes them
EXPLAIN (COSTS OFF) SELECT f.id, s.k, s.none, s.five FROM fact f LEFT JOIN (SELECT id, coalesce(price, 1) AS k, label IS NULL AS none, 5 AS five FROM dim) s
    ON s.id = f.dim;
SELECT block('SELECT f.id, s.k, s.none, s.five FROM fact f LEFT JOIN (SELECT id, coalesce(price, 1) AS k, label IS NULL AS none, 5 AS five FROM dim) s
    ON s.id = f.dim AND f.small = 3');
-- ... as keys, in conditions, aggregated, and grouped
EXPLAIN (COSTS OFF) SELECT s.up, s.none, count(*), sum(s.up) FROM dim d LEFT JOIN (SELECT id, coalesce(v, 5) AS up, t IS NULL AS none FROM parted) s ON s.id = d.id
    LEFT JOIN fact f ON f.dim = s.up AND (f.id > s.up OR s.none) GROUP BY s.up, s.none;
SELECT block('SELECT s.up, s.none, count(*), sum(s.up) FROM dim d LEFT JOIN (SELECT id, coalesce(v, 5) AS up, t IS NULL AS none FROM parted) s ON s.id = d.id
    LEFT JOIN fact f ON f.dim = s.up AND (f.id > s.up OR s.none) GROUP BY s.up, s.none');
SELECT block('SELECT d.id, s.up FROM dim d LEFT JOIN (SELECT id, coalesce(v, 5) AS up FROM parted WHERE id > 30) s ON s.id = d.id WHERE s.up IS NULL OR (s.up * d.price)::text > ''5'' ');
SELECT block('SELECT s.k, s.x, t.y FROM (SELECT id, coalesce(small, 1) AS k, ''x'' AS x FROM fact) s FULL JOIN (SELECT id, v IS NULL AS y FROM parted) t ON s.id = t.id AND s.k = t.id');
SELECT block('SELECT d.id, u.k FROM dim d LEFT JOIN (SELECT id, coalesce(v, 1) AS k FROM parted UNION ALL SELECT id, 5 FROM dim) u ON u.id = d.id LEFT JOIN fact f ON f.id = u.k');
-- ... above an anti join they are NULL
SELECT block('SELECT d.id FROM dim d LEFT JOIN (SELECT dim, coalesce(small, 1) AS k FROM fact) s ON s.dim = d.id WHERE s.dim IS NULL AND s.k IS NULL');
EXPLAIN (COSTS OFF) SELECT d.id, s.k FROM dim d LEFT JOIN (SELECT dim, coalesce(small, 1) AS k FROM fact) s ON s.dim = d.id WHERE s.dim IS NULL;
-- ... of several tables
EXPLAIN (COSTS OFF) SELECT d.id, s.k FROM dim d LEFT JOIN (SELECT p.id, coalesce(p.v, f.small) AS k FROM parted p JOIN fact f USING (id)) s USING (id);

-- transition tables
CREATE TABLE logged (id int, v int);
CREATE FUNCTION log_changes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    SELECT count(*) INTO n FROM before b JOIN after a USING (id) JOIN dim d ON d.id = a.id;
    RAISE NOTICE '% rows changed', n;
    RETURN NULL;
END $$;
INSERT INTO logged SELECT g, g FROM generate_series(1, 100) g;
CREATE TRIGGER log_changes AFTER UPDATE ON logged REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION log_changes();
UPDATE logged SET v = v + 1 WHERE id > 10;

-- with both plans of each query
SET gpujoin.verify = on;
SELECT block('WITH w AS MATERIALIZED (SELECT dim, grp, sum(rate) AS s FROM fact GROUP BY dim, grp)
SELECT x.dim, x.s, y.s FROM w x JOIN w y ON x.dim = y.dim AND x.grp = 1 AND y.grp = 2');
SELECT block('SELECT u.label, count(*) FROM (SELECT id, label FROM dim UNION ALL SELECT id, t FROM parted UNION ALL SELECT 5, ''five'') u
    JOIN fact f ON f.dim = u.id GROUP BY u.label');
SELECT block('SELECT * FROM dim d JOIN (SELECT p.id, (SELECT max(f.day) FROM fact f WHERE f.dim = p.v) AS day FROM parted p OFFSET 0) s USING (id)');
SELECT block('SELECT f.id, v.* FROM fact f JOIN (VALUES (1, ''a''), (2, NULL), (3, ''c'')) v(k, x) ON f.dim = v.k');
RESET gpujoin.verify;

DROP TABLE parted, logged;
DROP FUNCTION log_changes, unsteady;
