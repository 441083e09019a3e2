-- Conditions of joins in the daemon: all types, and errors that only a block may risk.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE l (id int, k int, n numeric(10,2), m numeric(10,2), s numeric(8,4), t text, c char(4), b bool, i int, f float8);
INSERT INTO l SELECT g, g % 40, CASE WHEN g % 17 = 0 THEN NULL WHEN g % 19 = 0 THEN 'NaN' ELSE g % 31 - 9.5 END, g % 13,
    g % 29 * 0.5, 'text ' || g % 6, 'c' || g % 5, g % 3 = 0, nullif(g % 10, 4), g FROM generate_series(1, 800) g;
CREATE TABLE r (id int, k int, n numeric(10,2), t text, c char(4), b bool, i int8, v text);
INSERT INTO r SELECT g, g % 40, CASE WHEN g % 11 = 0 THEN NULL WHEN g % 13 = 0 THEN 'NaN' ELSE g % 31 - 9.5 END,
    'text ' || g % 7, 'c' || g % 4, g % 2 = 0, g % 10, 'v' || g FROM generate_series(1, 120) g;
ANALYZE l, r;

-- decimals with NaN and NULL, as join conditions and negated
SELECT op, block(format('SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k AND l.n %s r.n', op)) AS condition,
       block(format('SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k AND (l.n %s r.n) IS NOT TRUE', op)) AS negated
FROM unnest(ARRAY['<', '<=', '=', '>=', '>', '<>']) op;
SELECT op, block(format('SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k AND (l.n %s 7.5 OR r.i = 3)', op)) AS constant,
       block(format('SELECT l.id FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.k = r.k AND (3 %s r.n) IS NOT FALSE)', op)) AS commuted
FROM unnest(ARRAY['<', '<=', '=', '>=', '>', '<>']) op;
EXPLAIN (COSTS OFF) SELECT l.id FROM l LEFT JOIN r ON l.k = r.k AND l.n < r.n AND (l.m > 3 OR r.n IN (0.5, 1.5));
-- text, IN, LIKE, CASE, COALESCE, NULL tests of any type
SELECT block('SELECT l.id, r.v FROM l LEFT JOIN r ON l.k = r.k AND l.t = r.t AND l.t <> ''text 1''');
SELECT block('SELECT l.id, r.v FROM l LEFT JOIN r ON l.k = r.k AND (l.t LIKE ''%3'' OR r.v IN (''v1'', ''v2'', NULL))');
SELECT block('SELECT l.id, r.v FROM l LEFT JOIN r ON l.k = r.k AND (l.c = r.c OR l.c LIKE ''c1_%'')');
SELECT block('SELECT l.id, r.v FROM l LEFT JOIN r ON l.k = r.k AND CASE WHEN l.b THEN r.b ELSE coalesce(l.i, 3) > r.i END');
SELECT block('SELECT l.id, r.v FROM l FULL JOIN r ON l.k = r.k AND (l.f IS NULL OR r.v IS NOT NULL) AND nullif(l.i, 3) IS NULL');
SELECT block('SELECT l.id FROM l WHERE EXISTS (SELECT FROM r WHERE l.k = r.k AND l.t <> r.t AND (l.b = r.b) IS NOT TRUE)');
-- what may fail is evaluated by a block, and above an OffloadJoin
SELECT block('SELECT l.id, r.id FROM l JOIN r ON l.k = r.k AND l.i + r.i > 9');
SELECT block('SELECT count(*), sum(l.id) FROM l JOIN r ON l.k = r.k AND l.i + r.i > 9');
EXPLAIN (COSTS OFF) SELECT count(*) FROM l JOIN r ON l.k = r.k AND l.i + r.i > 9;
SELECT block('SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k AND l.i + r.i > 9');
SELECT block('SELECT count(*), count(r.id) FROM l LEFT JOIN r ON l.k = r.k AND l.i + r.i > 9');
SELECT block('SELECT count(*) FROM r r0 LEFT JOIN (l JOIN r ON l.k = r.k AND l.i + r.i > 9) ON r0.id = l.id');
SELECT block('SELECT count(*) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.k = r.k AND l.m * 2 > r.id)');
SELECT block('SELECT count(*) FROM l JOIN r ON l.k = r.k AND l.s < r.id AND l.n + 1 > r.id');
SELECT count(*) FROM l LEFT JOIN r ON l.k = r.k AND 1 / (r.i - 3) > 0;
-- a condition that only PostgreSQL evaluates leaves the aggregation to it
SELECT block('SELECT count(*) FROM l JOIN r ON l.k = r.k AND sqrt(l.f) > r.id');
-- hidden columns: above a semi join an equal one, above an anti join none
SELECT block('SELECT sum(l.k), max(l.t), count(l.i) FROM l WHERE l.k IN (SELECT k FROM r WHERE i > 4)');
SELECT block('SELECT l.t, count(*) FROM l WHERE (l.t, l.k) IN (SELECT t, k FROM r) GROUP BY l.t');
SELECT block('SELECT count(r.v), count(*) FROM l LEFT JOIN r ON l.id = r.id WHERE r.id IS NULL');
SELECT block('SELECT r.t, count(*) FROM l LEFT JOIN r ON l.id = r.id WHERE r.id IS NULL GROUP BY r.t');
-- a computed char(n) is padded
SELECT block('SELECT CASE WHEN b THEN c END, count(*) FROM l GROUP BY 1');
-- nested expressions: as deep as a job may be, and deeper; texts that would double at each level
CREATE FUNCTION nested(prefix text, value text, suffix text, levels int) RETURNS text
LANGUAGE sql AS $$ SELECT repeat(prefix, levels) || value || repeat(suffix, levels) $$;
SELECT levels, block(format('SELECT sum(%s) FROM l JOIN r ON l.k = r.k', nested('(1 + ', 'l.id', ')', levels)))
FROM unnest(ARRAY[1, 122, 123, 124, 125, 126]) levels;
SELECT levels, block(format('SELECT l.id FROM l LEFT JOIN r ON l.k = r.k AND (%s) = 3', nested('nullif(', 'l.i', ', r.i)', levels)))
FROM unnest(ARRAY[1, 8, 40]) levels;
DROP TABLE l, r;
