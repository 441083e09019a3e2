-- Parameters of prepared statements, and subqueries that run once, in expressions of a job.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;

CREATE TABLE v (id int, k int, n numeric(10,2), m numeric(10,2), b bool, s timestamp, d date);
INSERT INTO v SELECT g, g % 40, CASE WHEN g % 17 = 0 THEN NULL WHEN g % 19 = 0 THEN 'NaN' ELSE g % 31 - 9.5 END, g % 13,
    nullif(g % 3, 2) = 0, timestamp '2020-01-01' + g * interval '1 hour', date '2020-01-01' + g FROM generate_series(1, 800) g;
CREATE TABLE w AS SELECT g AS id, g AS k FROM generate_series(0, 49) g;
ANALYZE v, w;

-- How a prepared statement is executed, and how its rows, as text, compare with those of the native plan.
CREATE FUNCTION executed(call text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
    node text := 'native';
    fallback text := '';
    n bigint;
    differ bigint;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE ' || call
    LOOP
        IF line ~ 'OffloadBlock|OffloadJoin' THEN
            node := substring(line FROM 'Offload\w+');
        ELSIF line ~ 'Fallback' THEN
            fallback := ' (' || trim(line) || ')';
        END IF;
    END LOOP;
    EXECUTE 'CREATE TEMP TABLE offloaded AS EXECUTE ' || call;
    SET LOCAL gpujoin.enabled = off;
    EXECUTE 'CREATE TEMP TABLE native AS EXECUTE ' || call;
    SET LOCAL gpujoin.enabled = on;
    SELECT count(*) INTO n FROM native;
    SELECT count(*) INTO differ FROM ((SELECT o::text FROM offloaded o EXCEPT ALL SELECT o::text FROM native o)
        UNION ALL (SELECT o::text FROM native o EXCEPT ALL SELECT o::text FROM offloaded o)) d;
    DROP TABLE offloaded, native;
    RETURN format('%s%s: %s rows, %s', node, fallback, n, CASE differ WHEN 0 THEN 'same' ELSE differ || ' differ' END);
END $$;

-- integers, booleans, dates and timestamps, in every place of a block
PREPARE all_places(int, bool, date, timestamp, int8) AS
SELECT v.id % $1, sum(v.id * $1), count(*) FILTER (WHERE v.d < $3 OR v.s >= $4), max(coalesce(CASE WHEN v.b THEN v.id END, $1)), bool_or($2 AND v.b)
FROM v LEFT JOIN w ON v.k = w.k AND v.id + w.id > $5 GROUP BY 1 HAVING count(*) > $1;
EXPLAIN (COSTS OFF) EXECUTE all_places(3, true, '2020-03-01', '2020-01-20 12:00', 500);
SELECT executed('all_places(3, true, ''2020-03-01'', ''2020-01-20 12:00'', 500)');
SELECT executed('all_places(3, NULL, NULL, NULL, NULL)');
SELECT executed('all_places(NULL, false, ''infinity'', ''-infinity'', 9223372036854775807)');
SELECT executed('all_places(0, false, ''-infinity'', ''infinity'', 1)');

-- a numeric is compared with the decimals around it; NaN and NULL as in PostgreSQL
SELECT format('PREPARE test_%s(numeric) AS SELECT v.id, w.id AS other FROM v LEFT JOIN w ON v.k = w.k AND (v.n %s $1 OR w.id = 3)', n, op),
       format('PREPARE negated_%s(numeric) AS SELECT v.id, w.id AS other FROM v LEFT JOIN w ON v.k = w.k AND ($1 %s v.n OR w.id = 3) IS NOT TRUE', n, op),
       format('PREPARE computed_%s(numeric) AS SELECT count(*) FILTER (WHERE (m * 2.5 %s $1) IS NOT FALSE) FROM v', n, op)
FROM unnest(ARRAY['<', '<=', '=', '>=', '>', '<>']) WITH ORDINALITY AS ops (op, n) \gexec
SELECT value, string_agg(distinct executed(format('%s_%s(%L)', kind, n, value)), ', ')
FROM unnest(ARRAY['test', 'negated', 'computed']) kind, generate_series(1, 6) n, unnest(ARRAY['7.5', '7.505', '-2.5', '-2.501', '15', '0.0000001', NULL]) value
GROUP BY value ORDER BY value;
SELECT value, string_agg(distinct executed(format('%s_1(%L)', kind, value)), ', ')
FROM unnest(ARRAY['test', 'computed']) kind, unnest(ARRAY['NaN', 'infinity', '-infinity', '1e30']) value GROUP BY value ORDER BY value;
-- in arithmetic, the number of its decimals would have to be known
PREPARE product(numeric) AS SELECT sum(m * $1) FROM v;
SELECT executed('product(1.5)');
PREPARE words(text) AS SELECT count(*) FILTER (WHERE v.b::text = $1) FROM v JOIN w ON v.k = w.k;
SELECT executed('words(''true'')');
-- texts: the bytes of a parameter, or NULL; of char(n), blanks at the end do not count
CREATE TABLE n AS SELECT g AS id, CASE WHEN g % 7 > 0 THEN 'name ' || g % 20 END AS t, ('c' || g % 5)::char(6) AS c, ('v' || g % 9)::varchar(10) AS s FROM generate_series(1, 900) g;
ANALYZE n;
SELECT format('PREPARE text_%s(text, char(6), varchar) AS SELECT c, %s AS a FROM n GROUP BY c', n, a)
FROM unnest(ARRAY['count(*) FILTER (WHERE t = $1)', 'sum(CASE WHEN t < $1 COLLATE "C" THEN id ELSE 1 END)', 'count(*) FILTER (WHERE c <> $2)', 'max(coalesce(t, $1) COLLATE "C")',
    'count(*) FILTER (WHERE s = $3 OR s = ''v3'')', 'count(DISTINCT coalesce(s, $3))', 'count($1)', 'bool_or($1 IS NULL)']) WITH ORDINALITY AS list (a, n) \gexec
SELECT n, executed(format('text_%s(%L, %L, %L)', n, one, two, three)), one IS NULL AS nulls
FROM generate_series(1, 8) n, (VALUES ('name 3', 'c1', 'v2'), ('', 'c1    ', 'v 2'), ('Grüße "\''" ', 'c  1', 'v2 '), (NULL, NULL, NULL)) v (one, two, three) ORDER BY n, one;
SELECT executed(format('text_1(%L, %L, %L)', repeat('long ', 10000), 'c1', 'v2'));
SELECT executed(format('text_1(%L, %L, %L)', repeat('long ', 40000), 'c1', 'v2'));
PREPARE joined(text, text) AS SELECT a.id, b.id AS other FROM n a LEFT JOIN n b ON a.id = b.id AND (b.t = $1 OR a.t > $2 COLLATE "C");
SELECT executed('joined(''name 1'', ''name 5'')');
SELECT executed('joined(NULL, ''name 5'')');
PREPARE pattern(text) AS SELECT count(*) FILTER (WHERE t LIKE $1) FROM n;
SELECT executed('pattern(''name 1%'')');
SELECT block('SELECT count(*) FILTER (WHERE t = (SELECT max(t COLLATE "C") FROM n)) FROM n');

-- subqueries that run once
EXPLAIN (COSTS OFF) SELECT k, sum(m) FROM v GROUP BY k HAVING sum(m) > (SELECT sum(m) * 0.0251 FROM v);
SELECT block('SELECT k, sum(m) FROM v GROUP BY k HAVING sum(m) > (SELECT sum(m) * 0.0251 FROM v)');
SELECT block('SELECT v.id, w.id FROM v LEFT JOIN w ON v.k = w.k AND v.id > (SELECT max(id) FROM w)');
SELECT block('SELECT count(*), count(w.id) FROM v LEFT JOIN w ON v.k = w.k AND v.id > (SELECT id FROM w WHERE id > 49)');
SELECT count(*), count(w.id) FROM v LEFT JOIN w ON v.k = w.k AND v.id > (SELECT 1 / min(id) FROM w);
-- one that depends on a row of the outer query
SELECT block('SELECT w.id, (SELECT count(x.id) FROM v LEFT JOIN w x ON v.k = x.k AND v.id + w.id > 790) FROM w WHERE w.id < 4');

-- as many as a job may have
CREATE FUNCTION many(n int) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('PREPARE many_%s(%s) AS SELECT count(*) FROM v LEFT JOIN w ON v.k = w.k AND (%s)', n,
        (SELECT string_agg('int', ', ') FROM generate_series(1, n)), (SELECT string_agg('v.id + w.id = $' || g, ' OR ') FROM generate_series(1, n) g));
    RETURN executed(format('many_%s(%s)', n, (SELECT string_agg(g::text, ', ') FROM generate_series(1, n) g)));
END $$;
SELECT n, many(n) FROM unnest(ARRAY[1024, 1025]) n;

-- parallel
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE v SET (parallel_workers = 2);
ALTER TABLE n SET (parallel_workers = 2);
PREPARE shared(int, numeric) AS SELECT k, count(*), sum(id + $1) FROM v WHERE id > $1 GROUP BY k HAVING sum(m) < $2;
EXPLAIN (COSTS OFF) EXECUTE shared(10, 120.5);
SELECT executed('shared(10, 120.5)');
SELECT executed('shared(NULL, NULL)');
SELECT executed('text_1(''name 3'', ''c1'', ''v2'')');
SELECT executed(format('text_1(%L, %L, %L)', repeat('long ', 40000), 'c1', 'v2'));
SELECT executed('shared(10, ''NaN'')');
SELECT block('SELECT k, sum(m) FROM v GROUP BY k HAVING sum(m) > (SELECT sum(m) * 0.0251 FROM v)');
SELECT block('SELECT v.id, w.id FROM v LEFT JOIN w ON v.k = w.k AND v.id > (SELECT max(id) FROM w)');
-- ... whose error comes from the leader or a worker
\set SHOW_CONTEXT never
SELECT count(*), count(w.id) FROM v LEFT JOIN w ON v.k = w.k AND v.id > (SELECT 1 / min(id) FROM w);
\set SHOW_CONTEXT errors
DEALLOCATE ALL;
DROP TABLE v, w;
