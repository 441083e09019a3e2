-- Conditions of tables: the daemon evaluates them as PostgreSQL does, on rows that it has kept.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpujoin;
RESET client_min_messages;
CREATE SCHEMA kept_conditions;
SET search_path = kept_conditions;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
SET gpujoin.keep = always;
-- without this, VACUUM does not know yet that the rows are committed
SET synchronous_commit = on;

CREATE TYPE kept_conditions.mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE k (
    id int, f4 float4, f8 float8, d date, ts timestamp, tz timestamptz, n numeric(8,2), i int, s int2, m kept_conditions.mood,
    o oid, h "char", b bool, x text, v varchar(10), p char(4), j jsonb);
INSERT INTO k
SELECT g, f, f, d, ts, ts AT TIME ZONE 'UTC', n, i, i % 100, (ARRAY['sad', 'ok', 'happy', NULL])[1 + g % 4]::kept_conditions.mood,
    (ARRAY[0, 1, 16384, 4294967295, 2147483648, NULL])[1 + g % 6], chr(1 + g % 200), (ARRAY[true, false, NULL])[1 + g % 3], x, x, left(x, 4),
    CASE WHEN g % 3 = 0 THEN '{}'::jsonb END
FROM generate_series(1, 3000) g,
    LATERAL (SELECT (ARRAY['0', '-0', 'NaN', 'Infinity', '-Infinity', '1.5', '-1.5', '1e-30', '0.1', '-0.1', NULL, '3'])[1 + g % 12]::float8 AS f,
        (ARRAY['infinity', '-infinity', '1999-12-31', '2000-01-01', '2000-01-02', '1950-05-05', '5874897-12-31', '4713-01-01 BC',
               '294276-12-31', '294277-01-01', NULL])[1 + g % 11]::date AS d,
        (ARRAY['infinity', '-infinity', '1999-12-31 23:59:59.999999', '2000-01-01', '2000-01-02 00:00:00.000001', NULL])[1 + g % 6]::timestamp AS ts,
        (ARRAY['NaN', '0', '0.01', '-0.01', '5.55', '-5.55', '999999.99', NULL, '5.5', '5.56', '-5.56'])[1 + g % 11]::numeric(8,2) AS n,
        (ARRAY[0, 1, -1, 5, 6, -5, -6, NULL, 2147483647])[1 + g % 9] AS i,
        (ARRAY['', 'a', 'a ', 'ab', 'abc', 'b', 'B', '%', '_', '\', NULL, 'a%b'])[1 + g % 12] AS x) v;
VACUUM (FREEZE, ANALYZE) k;

-- How many rows pass, natively and three times as a job, of which the first one lets the
-- daemon keep the columns: which of these differ, and whether the table needs not be fed then.
CREATE FUNCTION kept_runs(cond text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    query text := 'SELECT count(*), sum(id::int8), min(id), max(id) FROM k WHERE ' || cond;
    line text;
    wanted record;
    got record;
    how text := 'fed';
    busy boolean;
BEGIN
    SET LOCAL gpujoin.enabled = off;
    EXECUTE query INTO wanted;
    SET LOCAL gpujoin.enabled = on;
    FOR run IN 1..3 LOOP
        EXECUTE query INTO got;
        IF got IS DISTINCT FROM wanted THEN
            RETURN format('run %s differs: %s, not %s', run, got, wanted);
        END IF;
    END LOOP;
    FOR try IN 1..100 LOOP
        busy := false;
        FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
            IF line ~ 'Fallback' THEN
                RETURN trim(line);
            ELSIF line ~ 'Blocks: [1-9]\d* kept, \d+ proved, 0 fed' THEN
                how := 'kept';
            ELSIF line ~ 'Blocks:.* [1-9]\d* fed' THEN
                busy := true;   -- the daemon has not copied the columns yet
            END IF;
        END LOOP;
        EXIT WHEN NOT busy;
        PERFORM pg_sleep(0.05);
    END LOOP;
    RETURN how;
END $$;

CREATE TABLE cond AS
-- comparisons of all kinds with values that are NULL, infinite, no numbers, and zeros of both signs
SELECT format('%s %s %s', a, op, b) AS cond
FROM (SELECT a, b FROM unnest(ARRAY['f4', 'f8']) a, unnest(ARRAY['0::float8', '''-0''::float8', '''NaN''::float8', '''Infinity''::float8', '0.1::float8',
        '0.1::float4', '-1.5::float4', 'f8', 'f4']) b
    UNION ALL SELECT 'd', b FROM unnest(ARRAY['date ''2000-01-01''', 'timestamp ''2000-01-01''', 'timestamp ''2000-01-01 00:00:00.000001''',
        'timestamp ''infinity''', 'timestamp ''-infinity''', 'timestamp ''294276-12-31''', 'timestamp ''4713-01-01 BC''']) b
    UNION ALL SELECT a, b FROM unnest(ARRAY['n', 'i', 's']) a, unnest(ARRAY['5.5', '5.55', '5.550', '5.555', '-5.555', '0.000', '-0.005', '1e-30']) b
    UNION ALL SELECT 'i', b FROM unnest(ARRAY['5', 's', 'id']) b) c,
    unnest(ARRAY['<', '<=', '=', '<>', '>=', '>']) op
UNION ALL SELECT format('%s %s %s', b, op, a)
FROM (VALUES ('f8', '''-0''::float8'), ('d', 'timestamp ''2000-01-01 12:00'''), ('n', '5.555'), ('s', '-5.5')) c(a, b), unnest(ARRAY['<', '<=', '=', '<>', '>=', '>']) op
UNION ALL SELECT format('%s %s %s', a, op, b)
FROM (VALUES ('m', '''ok'''), ('o', '4294967295'), ('o', '0'), ('h', '''A'''), ('h', 'chr(150)::"char"'), ('x', '''a'''), ('x', ''''''), ('v', '''a '''),
    ('p', '''a'''), ('p', '''a '''), ('v', 'x'), ('b', '(i > 0)')) c(a, b), unnest(ARRAY['=', '<>']) op
UNION ALL SELECT format('%s IS %s', a, test)
FROM unnest(ARRAY['f8', 'd', 'n', 'm', 'x', 'p', 'j', 'b']) a, unnest(ARRAY['NULL', 'NOT NULL']) test
UNION ALL SELECT format('b IS %s', test) FROM unnest(ARRAY['TRUE', 'NOT TRUE', 'FALSE', 'NOT FALSE', 'UNKNOWN', 'NOT UNKNOWN']) test
UNION ALL SELECT format('%s %sLIKE %s', a, negated, b)
FROM (VALUES ('x', '''a_'''), ('x', '''%b%'''), ('x', '''\%'''), ('x', '''a\%b'''), ('x', '''__'''), ('p', '''a %'''), ('p', '''a%'''), ('v', '''_''')) c(a, b),
    unnest(ARRAY['', 'NOT ']) negated
UNION ALL SELECT format('%s %sIN (%s)', a, negated, b)
FROM (VALUES ('i', '1, 5, NULL'), ('i', '1, 5'), ('n', '0.01, 5.5'), ('n', '0.01, 5.555'), ('f8', '0, 1.5, ''NaN'''), ('m', '''sad'', ''ok'''), ('x', '''a'', ''B'''),
    ('p', '''a'', ''ab'''), ('d', '''1999-12-31'', ''2000-01-01''')) c(a, b), unnest(ARRAY['', 'NOT ']) negated
UNION ALL SELECT unnest(ARRAY[
    'b', 'NOT b', 'NOT (f8 < 0.1)', 'NOT (n <= 5.555)', 'NOT (d < timestamp ''2000-01-01 12:00'')', 'f4 BETWEEN -0.1 AND 3', 'n BETWEEN -5.555 AND 5.5549',
    'i BETWEEN s AND 5', 'x COLLATE "C" < ''b''', 'x COLLATE "C" >= ''a%''', 'x IS DISTINCT FROM ''a''', 'n IS DISTINCT FROM 5.5',
    'coalesce(i, 3) > 2', 'nullif(i, 5) IS NULL', 'CASE WHEN b THEN i ELSE s END > 0', 'greatest(i, s) > 4', 'n > -0.005 OR d < ''2000-01-01''',
    'substr(x, 1, 1) = ''a''', 'ts < ''2000-01-01''', 'tz >= ''2000-01-01 00:00+00''', 'id % 7 = 3', 'i::int8 + 1 > 2',
    'id > 3 AND (b OR x = ''a'') AND n < 5.5', 'i = (SELECT max(i) FROM k WHERE i < 6)',
    -- the daemon cannot evaluate these on some rows, so it keeps nothing of the next job
    'n * 2 > 5', 'extract(year FROM d) = 2000', 'ts::date = ''2000-01-01''']);

SELECT result, count(*), CASE WHEN count(*) < 40 THEN string_agg(cond, ', ' ORDER BY cond COLLATE "C") END
FROM (SELECT cond, kept_runs(cond) AS result FROM cond OFFSET 0) c GROUP BY 1 ORDER BY 1;

SET client_min_messages = warning;
DROP SCHEMA kept_conditions CASCADE;
