-- Functions and casts in a block, row by row, against PostgreSQL's own evaluation.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE edge (id int, i2 int2, i4 int, i8 int8, n numeric(12,3), m numeric(6,1), d date, ts timestamp, b bool,
    t text, c char(5), v varchar(9) COLLATE "C", f float8, w numeric);
INSERT INTO edge SELECT g, (g * 37 % 201 - 100)::int2, g * 7919 % 20011 - 10000, g * 1000000007::int8 % 4000000000 - 2000000000,
    (g * 7919 % 20011 - 10000) * 0.125, (g * 31 % 97 - 48) * 0.5, date '1999-12-20' + g % 37, timestamp '1999-12-31 22:00' + g * interval '17 min 3.000007 s',
    g % 3 = 0, 'Text ' || g % 13, 'c' || g % 5, 'V' || g % 7, g * 0.5 - 20, g * 0.25
FROM generate_series(1, 200) g;
INSERT INTO edge (id) VALUES (201);
INSERT INTO edge SELECT 202, -32767, -2147483647, -9223372036854775807, -999999999.999, -99999.9, date '4713-11-25 BC', timestamp '4713-11-25 BC', true, '', '', '', '-0', -0.5;
INSERT INTO edge SELECT 203, 32767, 2147483647, 9223372036854775807, 999999999.999, 99999.9, date '294276-12-31', timestamp '294276-12-31 23:59:59.999999', false, 'ÄÖ', 'ß', 'Zz', 'NaN', 1e30;
INSERT INTO edge SELECT 204, 0, 0, 0, 0, 0, date '0001-01-01 BC', timestamp '0001-12-31 BC 23:59:59.5', NULL, NULL, NULL, NULL, 'Infinity', NULL;
INSERT INTO edge SELECT 205, 1, -1, 1, 0.5, -0.5, date '2000-01-01', timestamp '2000-01-01', true, 'a', 'a', 'a', 0, 0;
INSERT INTO edge SELECT 206, -1, 1, -1, -0.5, 0.5, date '1999-12-31', timestamp '1999-12-31 23:59:59.999999', true, 'b', 'b', 'b', 0, 0;
INSERT INTO edge SELECT 207, 3, 5, 7, 1.500, 2.5, date '2000-02-29', timestamp '2000-02-29 12:34:56.789', true, 'c', 'c', 'c', 0, 0;
INSERT INTO edge SELECT 208, 3, 5, 7, -2.500, -1.5, date '1900-03-01', timestamp '1900-02-28 23:00:00', false, 'd', 'd', 'd', 0, 0;
ANALYZE edge;
-- How each value is computed, where it differs; the errors that the native plan raises.
CREATE FUNCTION values_of(expressions text[], condition text DEFAULT 'true') RETURNS TABLE (expression text, result text)
LANGUAGE plpgsql AS $$
BEGIN
    FOREACH expression IN ARRAY expressions LOOP
        BEGIN
            result := block(format('SELECT id, max(%s) FROM edge WHERE %s GROUP BY id', expression, condition));
        EXCEPTION WHEN OTHERS THEN
            result := SQLERRM;
        END;
        RETURN NEXT;
    END LOOP;
END $$;
-- integers
SELECT * FROM values_of(ARRAY['abs(i2)', 'abs(i4)', '@ i8', '+ i4', 'mod(i2, 7::int2)', 'mod(i4, -7)', 'mod(i8, 1000)', 'mod(7, nullif(i4, 0))',
    'i2::int', 'i4::int8', 'b::int', 'i4::numeric', 'i4::numeric(10,0)', 'greatest(i2, i4, 5)', 'least(i4, i8)', 'greatest(i4, NULL, b::int)', 'least(i8, 3)']);
SELECT * FROM values_of(ARRAY['i4::int2', 'i8::int', 'i8::int2', 'n::int', 'n::int2', 'm::int8', 'i8::numeric(12,2)'], 'id < 201 AND i8 % 5 > 0');
-- a result that does not fit, a division by zero: PostgreSQL's errors
SELECT * FROM values_of(ARRAY['i4::int2', 'i8::int', 'n::int2', 'n::numeric(5,1)', 'm::numeric(4,1)', 'mod(7, i4)', 'div(n, m)', 'n % m', 'abs(i4 - 1)', 'abs(i8 - 1)']);
-- numerics
SELECT * FROM values_of(ARRAY['abs(n)', '@ m', 'sign(n)', '- n', '+ n', 'round(n)', 'round(n, 1)', 'round(n, 2)', 'round(m, 3)', 'round(n, -1)', 'trunc(n)', 'trunc(n, 2)', 'trunc(n, 5)',
    'floor(n)', 'ceil(n)', 'ceiling(m)', 'n::numeric(12,1)', 'n::numeric(15,4)', 'm::numeric(9,0)', 'round(n * m, 1)', 'round(n + 0.0004, 3)', 'n % 7', 'mod(n, 1.5)', 'div(n, 2.5)', 'mod(n, nullif(m, 0))',
    'round(coalesce(n, 1.5), 1)', 'greatest(n, n + 1)', 'least(m, 3.5)', 'round(i4::numeric)']);
SELECT block('SELECT sum(round(n, 1)), avg(round(n)), sum(abs(n)), sum(n::numeric(12,1)), sum(floor(n)), sum(n % 7), sum(sign(n)) FROM edge');
-- dates and timestamps
SELECT * FROM values_of(ARRAY['extract(year FROM d)', 'extract(quarter FROM d)', 'extract(dow FROM d)', 'extract(isodow FROM d)', 'extract(month FROM ts)', 'extract(day FROM ts)', 'extract(year FROM ts)',
    'extract(quarter FROM ts)', 'extract(dow FROM ts)', 'extract(isodow FROM ts)', 'extract(hour FROM ts)', 'extract(minute FROM ts)', 'extract(second FROM ts)', 'extract(milliseconds FROM ts)',
    'extract(microseconds FROM ts)', 'extract(epoch FROM ts)', 'ts::date', 'd::timestamp', 'date_trunc(''second'', ts)', 'date_trunc(''minute'', ts)', 'date_trunc(''hour'', ts)', 'date_trunc(''day'', ts)',
    'd - ts::date', 'greatest(d, date ''2000-01-01'')', 'least(ts, timestamp ''2000-01-01'')']);
SELECT * FROM values_of(ARRAY['date_trunc(''week'', ts)', 'date_trunc(''month'', ts)', 'date_trunc(''week'', ts)', 'd + interval ''3 days 2 hours''', 'd - interval ''1 day''', 'ts + interval ''1 day''', 'ts - interval ''26 h 0.5 s'''], 'id <> 202 AND id <> 203');
SELECT * FROM values_of(ARRAY['date_trunc(''week'', ts)', 'date_trunc(''month'', ts)', 'd - interval ''1000 days''', 'ts + interval ''1 day''', 'ts - interval ''1000 days''']);
SELECT block('SELECT count(*) FILTER (WHERE d < ts), count(*) FILTER (WHERE d >= ts), count(*) FILTER (WHERE ts = d), count(*) FILTER (WHERE ts <> d), count(*) FILTER (WHERE ts <= d), count(*) FILTER (WHERE ts > d), count(*) FILTER (WHERE d = timestamp ''2000-01-01'') FROM edge');
-- what the daemon does not know: the native plan decides
SELECT * FROM values_of(ARRAY['ts + interval ''1 month''', 'extract(doy FROM d)', 'extract(century FROM d)', 'date_trunc(''year'', ts)', 'n / 2', 'greatest(n, m)', 'w', 'extract(epoch FROM d)']);
-- infinity
INSERT INTO edge (id, i2, d, ts) VALUES (300, 3, 'infinity', 'infinity'), (301, 3, '-infinity', '-infinity'), (302, 4, '5874897-12-31', '2000-01-01'), (303, 4, '294277-01-01', 'infinity');
SELECT * FROM values_of(ARRAY['extract(quarter FROM d)', 'extract(dow FROM d)', 'extract(hour FROM ts)', 'extract(epoch FROM ts)', 'ts::date', 'd::timestamp', 'date_trunc(''day'', ts)', 'date_trunc(''month'', ts)', 'd + interval ''1 day'''], 'id IN (7, 300)');
SELECT * FROM values_of(ARRAY['extract(quarter FROM d)', 'extract(dow FROM d)', 'extract(hour FROM ts)', 'extract(epoch FROM ts)', 'ts::date', 'd::timestamp', 'date_trunc(''day'', ts)', 'date_trunc(''month'', ts)', 'd + interval ''1 day'''], 'id IN (7, 301)');
SELECT * FROM values_of(ARRAY['extract(quarter FROM d)', 'extract(dow FROM d)', 'd::timestamp', 'd + interval ''1 day'''], 'id IN (7, 302)');
SELECT * FROM values_of(ARRAY['extract(dow FROM d)', 'd::timestamp', 'd - interval ''2 days'''], 'id IN (7, 303)');
SELECT block('SELECT e.id, count(*) FILTER (WHERE e.d < o.ts), count(*) FILTER (WHERE e.d = o.ts), count(*) FILTER (WHERE e.d > o.ts) FROM edge e JOIN edge o ON e.i2 = o.i2 WHERE e.id > 200 AND o.id > 200 GROUP BY e.id');
DELETE FROM edge WHERE id >= 300;
-- NaN
INSERT INTO edge (id, n, m) VALUES (310, 'NaN', 'NaN'), (311, 'NaN', 0);
SELECT block('SELECT n, count(*) FROM edge WHERE id > 200 GROUP BY n HAVING count(*) > 0');
SELECT block('SELECT n, m, count(*) FROM edge WHERE id > 200 GROUP BY n, m');
SELECT block('SELECT count(*) FILTER (WHERE n >= ''NaN''), count(*) FILTER (WHERE n < 1e14), count(*) FILTER (WHERE n NOT IN (1.5, 0.03)) FROM edge');
DELETE FROM edge WHERE id >= 310;
-- conditions
SELECT block('SELECT count(*) FILTER (WHERE i4 IS DISTINCT FROM i2), count(*) FILTER (WHERE i4 IS NOT DISTINCT FROM i2), count(*) FILTER (WHERE b IS DISTINCT FROM true), count(*) FILTER (WHERE t IS DISTINCT FROM v), count(*) FILTER (WHERE n IS DISTINCT FROM m), count(*) FILTER (WHERE i4 IS DISTINCT FROM NULL) FROM edge');
SELECT block('SELECT count(*) FILTER (WHERE i4 > ANY (ARRAY[5, 100])), count(*) FILTER (WHERE i4 > ALL (ARRAY[5, 100])), count(*) FILTER (WHERE n = ANY (ARRAY[0.5, 1.25, 7.00001])), count(*) FILTER (WHERE n <> ALL (ARRAY[0.5, 7.00001])) FROM edge');
-- an empty list is FALSE or TRUE even for NULL; a list with NULL is not
SELECT block('SELECT count(*) FILTER (WHERE i4 = ANY (''{}'')), count(*) FILTER (WHERE NOT i4 = ANY (''{}'')), count(*) FILTER (WHERE t <> ALL (''{}'')), count(*) FILTER (WHERE (t = ANY (''{}'')) IS NULL), count(*) FILTER (WHERE (i4 <> ALL (''{null,5}'')) IS NULL) FROM edge');
-- numbers of NULLs: of columns of any type, and of an array's elements
SELECT block('SELECT count(*) FILTER (WHERE num_nulls(i2, f, w, t) > 1), count(*) FILTER (WHERE num_nulls(b) = 1), sum(num_nonnulls(id, i2 + 5, d, ts, nullif(i8, 7))), bool_or(num_nulls(id) > 0) FROM edge WHERE id <> 203');
SELECT block('SELECT num_nulls(b, f, w), num_nonnulls(b, NULL, id, n), count(*) FROM edge GROUP BY 1, 2');
SELECT block('SELECT count(*) FILTER (WHERE num_nulls(VARIADIC ARRAY[i4, i2, NULL]) > 1) FROM edge');
-- patterns: escape characters, characters of several bytes, blanks
SELECT block('SELECT count(*) FILTER (WHERE t LIKE ''Te!_%'' ESCAPE ''!''), count(*) FILTER (WHERE t LIKE ''T%1'' ESCAPE ''''), count(*) FILTER (WHERE t LIKE ''_Ö''), count(*) FILTER (WHERE c LIKE ''c_''), count(*) FILTER (WHERE c LIKE ''c_   ''), count(*) FILTER (WHERE c::text LIKE ''c_'') FROM edge');
-- by minus one
SELECT block('SELECT id, max(i2 % -1::int2), max(i4 % -1), max(i8 % -1), max(i4 / -1), sum(i4 * i2::int8) FROM edge GROUP BY id');
SELECT block('SELECT count(f), count(w), count(c), count(f) FILTER (WHERE b) FROM edge');
-- computed by the plan that feeds the table
EXPLAIN (COSTS OFF, VERBOSE OFF) SELECT lower(t), count(*), max(length(t)) FROM edge GROUP BY 1;
SELECT * FROM values_of(ARRAY['length(t)', 'char_length(c)', 'octet_length(t)', 'i4 & 6', 'i8 | 1', 'i2 # 3::int2', '~ i4', 'i4 << 2', 'i8 >> 1', 'position(''e'' IN t)', 'strpos(t, ''x'')', 'length(i4::text)', '(t > ''Text 3'')::int', '(c < ''c2'')::int',
    '(f > 3)::int', '(w > 5)::int', 'starts_with(t, ''Text'')::int', 'upper(v)', 'lower(v)', 'v || ''x''', 'left(v, 1)', 'right(v, -1)', 'reverse(v)', 'replace(v, ''V'', ''w'')', 'initcap(v)', 'btrim(v, ''V'')', 'translate(v, ''V'', ''x'')']);
SELECT block('SELECT lower(t), t || c || i4::text, left(t, 3), f > 3, count(*), count(DISTINCT upper(t)) FROM edge GROUP BY 1, 2, 3, 4');
-- above an outer join, which makes them NULL; above a semi join, which hides them
SELECT block('SELECT l.id, upper(r.v), count(r.v || r.v), max(length(r.t)), bool_or(r.f > 3) FROM edge l LEFT JOIN edge r ON l.id = r.i2 GROUP BY 1, 2');
SELECT block('SELECT c::text, c::varchar, coalesce(c::text, ''?''), count(*), min(c::text COLLATE "C"), count(DISTINCT c::text) FROM edge GROUP BY 1, 2, 3');
SELECT block('SELECT l.v || r.v, count(*) FROM edge l JOIN edge r ON l.id = r.id GROUP BY 1');
SELECT block('SELECT upper(v), count(*) FROM edge l WHERE EXISTS (SELECT FROM dim d WHERE d.id = l.id) GROUP BY 1');
-- not offloaded: functions that may raise errors, and collations without an order of bytes
SELECT * FROM values_of(ARRAY['split_part(v, ''x'', i4)', '(t ~ ''T'')::int', 'length(repeat(v, i4))', 'lower(t)', 'chr(i4)']);
-- the current date and time
SELECT block('SELECT count(*) FILTER (WHERE d < current_date), count(*) FILTER (WHERE ts < localtimestamp), count(*) FILTER (WHERE ts > now()::timestamp - interval ''3 years''), max(d - current_date), count(*) FILTER (WHERE d + 3 > (now() - interval ''1 day'')::date) FROM edge WHERE id < 200');
PREPARE clock AS SELECT count(*) FILTER (WHERE d < current_date) FROM edge;
EXECUTE clock;
EXECUTE clock;
DEALLOCATE clock;
-- grouped by computed values
SELECT block('SELECT round(n), n * 2, date_trunc(''hour'', ts), extract(dow FROM ts), abs(i4), count(*) FROM edge GROUP BY 1, 2, 3, 4, 5');
SELECT block('SELECT n * 1000000000000, count(*) FROM edge GROUP BY 1');
-- in join conditions
SELECT block('SELECT count(*), sum(l.i4) FROM edge l LEFT JOIN edge r ON l.id = r.id AND abs(l.i4) > r.i2 AND l.d < r.ts AND round(l.n) <> r.m');
DROP FUNCTION values_of;
DROP TABLE edge;
