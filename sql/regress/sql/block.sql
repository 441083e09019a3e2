-- Query blocks: aggregates, keys, conditions and subqueries in one job.
CREATE SCHEMA block;
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE fact (
    id int, dim int, grp int, small int2, big int8, amount numeric(12,2), rate numeric(5,4), wide numeric,
    day date, stamp timestamp, flag bool, word text, code char(3), name varchar(20) COLLATE "C", f float8);
INSERT INTO fact SELECT g, g % 50, nullif(g % 7, 3), nullif(g % 11, 5), g * 1000000007::int8, (g % 997) * 1.01, (g % 13) * 0.0125,
    g * 1.5, date '2020-01-01' + g % 900, timestamp '2020-01-01' + g * interval '1 hour', nullif(g % 5, 4) > 1,
    nullif('word ' || g % 9, 'word 4'), chr(65 + g % 4), 'name ' || g % 21, g
FROM generate_series(1, 5000) g;
CREATE TABLE dim (id int PRIMARY KEY, label text, price numeric(8,2));
INSERT INTO dim SELECT g, 'label ' || g, g * 2.5 FROM generate_series(0, 59) g;
CREATE TABLE nothing (LIKE fact);
ANALYZE fact, dim, nothing;

-- How a query is executed, and how its rows, as text, compare with those of the native plan.
CREATE FUNCTION block(query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
    node text := 'native';
    fallback text := '';
    n bigint;
    differ bigint;
    told text := current_setting('gpujoin.explain_rejected');
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query
    LOOP
        IF line ~ 'OffloadBlock' THEN
            node := CASE WHEN node = 'native' THEN 'block' ELSE node || ', block' END;
        ELSIF line ~ 'OffloadJoin' THEN
            node := CASE WHEN node = 'native' THEN 'join' ELSE node || ', join' END;
        ELSIF line ~ 'Fallback' THEN
            fallback := ' (' || trim(line) || ')';
        END IF;
    END LOOP;
    PERFORM set_config('gpujoin.explain_rejected', 'off', true);
    EXECUTE format('CREATE TEMP TABLE offloaded AS SELECT r::text AS r FROM (%s) r', query);
    SET LOCAL gpujoin.enabled = off;
    EXECUTE format('CREATE TEMP TABLE native AS SELECT r::text AS r FROM (%s) r', query);
    SET LOCAL gpujoin.enabled = on;
    SELECT count(*) INTO n FROM native;
    SELECT count(*) INTO differ FROM ((TABLE offloaded EXCEPT ALL TABLE native) UNION ALL (TABLE native EXCEPT ALL TABLE offloaded)) d;
    DROP TABLE offloaded, native;
    PERFORM set_config('gpujoin.explain_rejected', told, true);
    RETURN format('%s%s: %s rows, %s', node, fallback, n, CASE differ WHEN 0 THEN 'same' ELSE differ || ' differ' END);
END $$;

-- the plan
EXPLAIN (COSTS OFF) SELECT d.label, count(*), sum(f.amount * (1 - f.rate)), avg(f.big), max(f.day)
FROM fact f JOIN dim d ON f.dim = d.id WHERE f.day < '2021-06-01' GROUP BY d.label HAVING count(*) > 3 AND sum(f.amount) > 100 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT grp, avg(amount) FROM fact GROUP BY grp HAVING avg(amount) > 10;

-- aggregates
SELECT block('SELECT count(*), count(small), count(DISTINCT grp), count(DISTINCT word) FROM fact');
SELECT block('SELECT grp, sum(small), sum(id), sum(big), sum(amount), sum(rate) FROM fact GROUP BY grp');
SELECT block('SELECT grp, avg(small), avg(id), avg(big), avg(amount), avg(rate) FROM fact GROUP BY grp');
SELECT block('SELECT grp, min(small), max(id), min(big), max(amount), min(day), max(stamp), min(name), max(name) FROM fact GROUP BY grp');
SELECT block('SELECT grp, bool_and(flag), bool_or(flag), every(id > 0) FROM fact GROUP BY grp');
SELECT block('SELECT grp, sum(DISTINCT small), avg(DISTINCT amount) FROM fact GROUP BY grp');
SELECT block('SELECT grp, count(*) FILTER (WHERE flag), sum(id) FILTER (WHERE word LIKE ''word 1%''), avg(amount) FILTER (WHERE NOT flag) FROM fact GROUP BY grp');
SELECT block('SELECT 2 * sum(id) + 1, round(sum(amount) / count(*), 3), coalesce(max(word COLLATE "C"), ''none'') FROM fact');
-- empty input, all NULL, one row
SELECT block('SELECT count(*), sum(id), avg(amount), min(day), bool_and(flag) FROM nothing');
SELECT block('SELECT grp, count(*), sum(id) FROM nothing GROUP BY grp');
SELECT block('SELECT sum(small), avg(small), count(small) FROM fact WHERE small IS NULL');
SELECT block('SELECT sum(amount), avg(amount) FROM fact WHERE id = 1');
-- keys
SELECT block('SELECT grp, small, count(*) FROM fact GROUP BY grp, small');
SELECT block('SELECT word, code, name, count(*), sum(amount) FROM fact GROUP BY word, code, name');
SELECT block('SELECT flag, day, count(*) FROM fact GROUP BY flag, day');
SELECT block('SELECT amount, rate, count(*) FROM fact GROUP BY amount, rate');
SELECT block('SELECT extract(year FROM day), extract(month FROM day), sum(id) FROM fact GROUP BY 1, 2');
SELECT block('SELECT id % 10, substring(word FROM 1 FOR 3), grp = 2, count(*) FROM fact GROUP BY 1, 2, 3');
SELECT block('SELECT CASE WHEN grp > 3 THEN ''high'' WHEN grp <= 3 THEN ''low'' ELSE ''none'' END, count(*) FROM fact GROUP BY 1');
SELECT block('SELECT id, count(*), sum(amount) FROM fact GROUP BY id');
-- columns that depend on a primary key
SELECT block('SELECT d.id, d.label, d.price, sum(f.id) FROM fact f JOIN dim d ON f.dim = d.id GROUP BY d.id');
-- expressions, and scales that depend on the row
SELECT block('SELECT grp, sum(CASE WHEN flag THEN amount * rate ELSE 0 END) FROM fact GROUP BY grp');
SELECT block('SELECT grp, sum(CASE WHEN id < 0 THEN amount * rate ELSE 0 END), avg(coalesce(CASE WHEN flag THEN rate END, amount)) FROM fact GROUP BY grp');
SELECT block('SELECT grp, sum(coalesce(CASE WHEN 1 > 2 THEN 0 END, small)) FROM fact GROUP BY grp');
SELECT block('SELECT sum(amount * (1 - rate) * (1 + rate)), sum(-amount), sum(id + small), sum(id * 2 - big), sum(id / 7), sum(big % 13) FROM fact');
SELECT block('SELECT count(*) FILTER (WHERE code = ''A'' OR code IN (''B'', ''C  '')), count(*) FILTER (WHERE code LIKE ''A%''), count(*) FILTER (WHERE word NOT IN (''word 1'', ''x'')), sum(nullif(small, 3)) FROM fact');
SELECT block('SELECT count(*) FILTER (WHERE flag IS NOT TRUE), count(*) FILTER (WHERE flag IS UNKNOWN), count(*) FILTER (WHERE small = ANY (ARRAY[1,2,NULL])), count(*) FILTER (WHERE amount IN (1.01, 2.02)) FROM fact');
SELECT block('SELECT min(CASE WHEN flag THEN 1 ELSE small END), max(CASE WHEN flag THEN id END), bool_or(CASE WHEN id > 5 THEN flag ELSE true END) FROM fact');
-- HAVING in the daemon and above it
SELECT block('SELECT grp, count(*) FROM fact GROUP BY grp HAVING sum(amount) > 350000.5 AND max(day) > ''2022-01-01'' AND grp IS NOT NULL');
SELECT block('SELECT grp, count(*) FROM fact GROUP BY grp HAVING avg(amount) > 490 OR stddev(id) > 0');
-- subqueries as inputs
SELECT block('SELECT count(*), sum(s.n) FROM (SELECT dim, count(*) AS n FROM fact GROUP BY dim) s JOIN dim d ON d.id = s.dim');
SELECT block('SELECT d.label, sum(f.id) FROM fact f JOIN dim d ON f.dim = d.id WHERE d.id IN (SELECT dim FROM fact GROUP BY dim HAVING sum(amount) > 48000) GROUP BY d.label');
SELECT block('SELECT n, count(*) FROM (SELECT dim, count(*) AS n FROM fact WHERE id < 999 GROUP BY dim) s GROUP BY n');
-- names of columns where core removes the scans of subqueries
EXPLAIN (COSTS OFF) SELECT sum(s.n) FROM (SELECT x.k, count(x.n) AS n FROM (SELECT dim AS k, count(small) AS n FROM fact GROUP BY dim OFFSET 0) x
GROUP BY x.k OFFSET 0) s JOIN dim d ON d.id = s.n;
EXPLAIN (COSTS OFF) SELECT n FROM (SELECT count(*) AS n FROM (SELECT dim AS k, sum(grp) AS n FROM fact GROUP BY dim OFFSET 0) x
JOIN (SELECT dim AS k, sum(small) AS n FROM fact GROUP BY dim OFFSET 0) y ON x.n = y.n AND x.k < y.k OFFSET 0) s WHERE n > 0;
-- outer and semi joins below
SELECT block('SELECT d.price > 100, count(f.id), count(*) FROM dim d LEFT JOIN fact f ON f.dim = d.id AND f.flag GROUP BY 1');
SELECT block('SELECT count(*), sum(price) FROM dim d WHERE EXISTS (SELECT FROM fact f WHERE f.dim = d.id AND f.small > 3)');
SELECT block('SELECT count(*), sum(price) FROM dim d WHERE NOT EXISTS (SELECT FROM fact f WHERE f.dim = d.id)');
-- what stays native, or is aggregated above joined rows
SELECT block('SELECT sum(f) FROM fact');
SELECT block('SELECT wide, count(*) FROM fact GROUP BY wide');
SELECT block('SELECT f.f, count(*) FROM fact f JOIN dim d ON f.dim = d.id GROUP BY f.f');
SELECT block('SELECT count(*), bool_and(true) FROM fact WHERE id > 7');
SELECT block('SELECT count(*) FROM fact'), block('SELECT count(*), sum(3) FROM fact WHERE false OR id < 0');
SELECT block('SELECT count(*) FROM fact WHERE word LIKE ''%1'' AND (grp > 3 OR flag)'), block('SELECT 7, count(*) FROM fact GROUP BY 1 HAVING count(*) > 10');
CREATE TABLE late (t text, gone int, f float4, i int);
INSERT INTO late SELECT g, g, g, g FROM generate_series(1, 300) g;
ALTER TABLE late DROP COLUMN gone;
SELECT block('SELECT count(*) FROM late'), block('SELECT count(*) FROM late WHERE i > 100');
DROP TABLE late;
SELECT block('SELECT max(1) FROM (SELECT sum(f.id) AS n FROM fact f JOIN dim d ON f.dim = d.id) s');
SELECT block('SELECT string_agg(word, '','' ORDER BY id) FROM fact');
SELECT block('SELECT grp, flag, count(*) FROM fact GROUP BY ROLLUP (grp, flag)');
SELECT block('SELECT d.id, (SELECT count(*) FROM fact f WHERE f.dim = d.id) FROM dim d');
-- values that cannot be computed exactly: the native plan answers, or raises the error
INSERT INTO fact (id, dim, amount, small) VALUES (5001, 1, 'NaN', 0);
SELECT block('SELECT sum(amount) FROM fact');
SELECT block('SELECT amount, count(*) FROM fact WHERE id > 4990 GROUP BY amount');
SELECT block('SELECT sum(CASE WHEN small <> 0 THEN id / small END) FROM fact');
SELECT sum(id / small) FROM fact;
SELECT sum(small * 30000::int2) FROM fact;
-- parallel
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE fact SET (parallel_workers = 2);
EXPLAIN (COSTS OFF) SELECT grp, sum(id) FROM fact GROUP BY grp;
SELECT block('SELECT grp, sum(id), count(*) FROM fact GROUP BY grp');
SELECT block('SELECT d.label, sum(f.big) FROM fact f JOIN dim d ON f.dim = d.id GROUP BY d.label');
SELECT block('SELECT sum(amount), grp FROM fact GROUP BY grp');
SET parallel_leader_participation = off;
SELECT block('SELECT grp, sum(id), count(*) FROM fact GROUP BY grp');
SELECT block('SELECT sum(amount), grp FROM fact GROUP BY grp');
-- run again
SELECT g, s.* FROM generate_series(1, 2) g, LATERAL (SELECT grp, sum(id) FROM fact WHERE id <> g GROUP BY grp ORDER BY grp LIMIT 2) s ORDER BY 1, 2;
RESET parallel_leader_participation;
SET max_parallel_workers_per_gather = 0;
SET gpujoin.verify = on;
SELECT grp, sum(id), avg(amount) FILTER (WHERE id < 5000) AS a FROM fact WHERE grp < 2 GROUP BY grp ORDER BY grp;
