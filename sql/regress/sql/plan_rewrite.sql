-- Subqueries in WHERE that become joins, where that is cheaper: NOT IN, and correlated
-- aggregates.
\set VERBOSITY terse
CREATE SCHEMA rewrite;
SET search_path = rewrite;
CREATE TABLE t (id int NOT NULL, k int, k2 int NOT NULL, x int, n numeric(10,2), s text NOT NULL);
CREATE TABLE u (id int NOT NULL, k int, k2 int NOT NULL, y int, n numeric(10,2), f float8, s text NOT NULL);
INSERT INTO t SELECT g, nullif(g % 50, 7), g % 11, g % 13, g / 7.0, 's' || g % 50 FROM generate_series(1, 400) g;
INSERT INTO u SELECT g, nullif(g % 60, 8), g % 9, nullif(g % 17, 3), g / 5.0, g, 's' || g % 60 FROM generate_series(1, 300) g;
ANALYZE t, u;
CREATE VIEW v AS SELECT * FROM u WHERE y > 2;
CREATE TABLE child (LIKE u);
CREATE TABLE parent (LIKE u);
ALTER TABLE child INHERIT parent;

SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

-- How a query is executed: with a subplan or without; and whether it returns the rows that it returns
-- if gpujoin is off.
CREATE FUNCTION rows_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	got text;
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(q::text, '','' ORDER BY q::text)), '''') FROM (%s) q', query) INTO got;
	RETURN got;
EXCEPTION WHEN division_by_zero OR numeric_value_out_of_range THEN
	RETURN 'error: ' || SQLERRM;
END $$;
CREATE FUNCTION try(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	how text := 'joins';
	here text;
	there text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line LIKE '%SubPlan%' THEN how := 'subplan'; END IF;
	END LOOP;
	here := rows_of(query);
	SET LOCAL gpujoin.enabled = off;
	there := rows_of(query);
	SET LOCAL gpujoin.enabled = on;
	RETURN how || CASE WHEN here = there THEN '' ELSE ', DIFFERS: ' || here || ' and ' || there END
		|| CASE WHEN there LIKE '0 %' THEN ', no rows' WHEN there LIKE 'error%' THEN ', ' || there ELSE '' END;
END $$;

-- NOT IN
SELECT q, try('SELECT t.id FROM t WHERE ' || q) FROM (VALUES
	('t.k2 NOT IN (SELECT u.k2 FROM u WHERE u.y > 14)'),
	('t.s NOT IN (SELECT u.s FROM u WHERE u.y > 3)'),
	('t.k NOT IN (SELECT u.k2 FROM u)'),						-- NULL on the left
	('t.k2 NOT IN (SELECT u.k FROM u WHERE u.y > 14)'),		-- NULL on the right
	('(t.k2, t.s) NOT IN (SELECT u.k2, u.s FROM u)'),
	('(t.k2, t.k) NOT IN (SELECT u.k2, u.k FROM u)'),
	('t.k2 NOT IN (SELECT u.k2 FROM u WHERE u.y = t.x)'),
	('t.k2 NOT IN (SELECT u.k2 + 1 FROM u WHERE u.y > 14)'),
	('t.k2 NOT IN (SELECT max(u.k2) FROM u)'),
	('t.k2 NOT IN (SELECT u.k2 FROM u LIMIT 3)'),
	('t.k2 NOT IN (SELECT u.k2 FROM u UNION ALL SELECT 3)'),
	('t.k2 NOT IN (SELECT v.k2 FROM v WHERE v.y > 14)'),
	('t.k2 NOT IN (SELECT p.k2 FROM parent p)'),
	('t.k2 NOT IN (SELECT u.k2 FROM t t2 LEFT JOIN u ON u.id = t2.id AND u.y > 15)'),
	('t.k2 NOT IN (SELECT u.k2 FROM u LEFT JOIN t t2 ON u.id = t2.id WHERE u.y > 15)'),
	('NOT (t.k2 IN (SELECT u.k2 FROM u WHERE u.y > 14) OR t.x = 3)'),
	('t.k2 NOT IN (SELECT u.k2 FROM u WHERE u.y > 14) AND t.k2 NOT IN (SELECT t2.k2 FROM t t2 WHERE t2.x = 4 AND t2.id < 9)')
) AS list (q);
-- the left side may be missing
SELECT try('SELECT u.id FROM u LEFT JOIN t ON t.id = u.id AND t.x = 1 WHERE t.k2 NOT IN (SELECT u.k2 FROM u WHERE u.y > 14)');
SELECT try('SELECT u.id, t.id FROM t LEFT JOIN u ON t.id = u.id AND t.x = 1 WHERE t.k2 NOT IN (SELECT u.k2 FROM u WHERE u.y > 14)');

-- correlated aggregates
SELECT q, try('SELECT t.id, t.x FROM t WHERE ' || q) FROM (VALUES
	('t.x < (SELECT avg(u.y) FROM u WHERE u.k = t.k)'),
	('t.x < (SELECT 0.2 * avg(u.y) FROM u WHERE t.k = u.k) AND t.s > ''s3'''),
	('t.x = (SELECT min(u.y) FROM u WHERE u.k = t.k AND u.k2 = t.k2)'),
	('t.x = (SELECT max(u.y) - min(u.y) FROM u WHERE u.k = t.k AND u.y > 2) AND t.k2 = 3'),
	('t.x + 1 < (SELECT sum(u.n) FROM u WHERE u.s = t.s) - 5 AND t.n < 20'),
	('t.s = (SELECT max(u.s) FROM u WHERE u.k = t.k)'),
	('t.x < (SELECT avg(u.y) + t.k2 FROM u WHERE u.k = t.k)'),
	('t.x < (SELECT count(u.y) FROM u WHERE u.k = t.k)'),		-- 0 without rows
	('t.x < (SELECT coalesce(max(u.y), 99) FROM u WHERE u.k = t.k)'),
	('coalesce(t.x < (SELECT max(u.y) FROM u WHERE u.k = t.k), true)'),
	('(t.x < (SELECT max(u.y) FROM u WHERE u.k = t.k)) IS NOT TRUE'),
	('t.x < (SELECT max(u.y) FROM u WHERE u.k = t.k) OR t.k2 = 3'),
	('t.x < (SELECT sum(u.f) FROM u WHERE u.k = t.k)'),			-- depends on the order
	('t.x < (SELECT max(u.y / u.k2) FROM u WHERE u.k = t.k AND u.k2 > 0)'),	-- may fail
	('t.x < (SELECT max(u.y) FROM u WHERE u.k = t.k AND 10 / u.k2 > 1) AND t.k2 > 20'),
	('t.x < (SELECT 10 / min(u.k2) FROM u WHERE u.k = t.k) AND t.id = 1'),	-- after the join
	('t.x < (SELECT max(u.y) FROM u WHERE u.k < t.k)'),
	('t.x < (SELECT max(u.y) FROM u WHERE u.k = t.k AND u.y < t.x)'),
	('t.x < (SELECT max(u.y) FROM u WHERE u.k = t.k LIMIT 1)'),
	('t.x < (SELECT max(u.y) FROM u WHERE u.k = t.k HAVING max(u.y) > 3)'),
	('t.x < (SELECT max(u.y) FROM u WHERE u.k = t.k GROUP BY u.k)'),
	('t.x < (SELECT max(v.y) FROM v WHERE v.k = t.k)'),
	('t.x < (SELECT max(u.y) FROM u, t t2 WHERE u.k = t.k AND u.id = t2.id AND t2.x > 3)'),
	('t.x < (SELECT max(u.y) FROM u WHERE u.k = t.k) AND t.k2 IN (SELECT u.k2 FROM u WHERE u.y = 16)'),
	('t.x < (SELECT max(u.y) FROM u WHERE u.k = t.k) AND t.x > (SELECT min(u.y) FROM u WHERE u.k2 = t.k2)'),
	('t.x < (SELECT max(u.y) FROM u WHERE u.k = t.k) AND EXISTS (SELECT FROM u WHERE u.id = t.id AND u.y = (SELECT min(t3.x) FROM t t3 WHERE t3.k = u.k))')
) AS list (q);
-- of several tables, of one that may be missing, and below other queries
SELECT try('SELECT t.id, a.id FROM t, u a WHERE a.id = t.id AND a.y > 5 AND t.x > 2 AND t.x < (SELECT avg(u.y) FROM u WHERE u.k = t.k AND u.k2 = a.k2)');
SELECT try('SELECT t.id, a.id FROM t LEFT JOIN u a ON a.id = t.id AND a.y > 5 WHERE a.k2 IS DISTINCT FROM 3 AND t.x < (SELECT avg(u.y) FROM u WHERE u.k = a.k)');
SELECT try('SELECT o.k2, sum(o.x) FROM (SELECT * FROM t WHERE t.x < (SELECT avg(u.y) FROM u WHERE u.k = t.k)) o GROUP BY o.k2');
SELECT try('WITH c AS (SELECT * FROM t WHERE t.x < (SELECT avg(u.y) FROM u WHERE u.k = t.k)) SELECT a.id FROM c a JOIN c b USING (id)');
SELECT try('WITH c AS MATERIALIZED (SELECT * FROM u WHERE y > 3) SELECT t.id FROM t WHERE t.k2 IN (SELECT k2 FROM c) AND t.x < (SELECT avg(c.y) FROM c WHERE c.k = t.k)');
SELECT try('SELECT t.id, (SELECT max(u.id) FROM u WHERE u.k = t.k AND u.y < (SELECT avg(t2.x) FROM t t2 WHERE t2.k2 = u.k2 AND t2.id > t.id)) FROM t WHERE t.id < 20');

-- Roles see what they may see, and no more.
CREATE ROLE gpujoin_rewriter;
GRANT USAGE ON SCHEMA rewrite TO gpujoin_rewriter;
GRANT SELECT ON u TO gpujoin_rewriter;
GRANT SELECT (id, k, x) ON t TO gpujoin_rewriter;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON t USING (k < 20);
SET ROLE gpujoin_rewriter;
SELECT try('SELECT t.id FROM t WHERE t.id > 100 AND t.x < (SELECT avg(u.y) FROM u WHERE u.k = t.k)');
SELECT try('SELECT t.id FROM u a, t WHERE a.id = t.id AND a.y > 5 AND t.id > 100 AND t.x < (SELECT avg(u.y) FROM u WHERE u.k = t.k)');
SELECT count(*) FROM t WHERE t.s > 's' AND t.x < (SELECT avg(u.y) FROM u WHERE u.k = t.k);
RESET ROLE;
-- without force, costs decide: a subplan that finds few rows by an index is cheaper than all groups
SET gpujoin.debug_force = off;
SET gpujoin.min_rows = 0;
SET gpujoin.startup_cost = 0;
SET seq_page_cost = 1000;
SELECT try('SELECT t.id FROM t WHERE t.x < (SELECT avg(u.y) FROM u WHERE u.k = t.k)');
RESET seq_page_cost;
CREATE INDEX ON t (id);
CREATE INDEX ON u (k);
SELECT try('SELECT t.id FROM t WHERE t.id = 4 AND t.x < (SELECT avg(u.y) FROM u WHERE u.k = t.k)');
SET gpujoin.debug_force = on;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;

-- A plan that is kept notices that a column may be NULL now.
SET plan_cache_mode = force_generic_plan;
PREPARE not_in AS SELECT count(*) FROM t WHERE t.k2 NOT IN (SELECT u.k2 FROM u WHERE u.y > 14);
EXECUTE not_in;
ALTER TABLE u ALTER k2 DROP NOT NULL;
UPDATE u SET k2 = NULL WHERE id = 15;
EXECUTE not_in;

DROP OWNED BY gpujoin_rewriter;
DROP ROLE gpujoin_rewriter;
SET client_min_messages = warning;
DROP SCHEMA rewrite CASCADE;
