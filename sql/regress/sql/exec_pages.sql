-- What lies on heap pages, and what only seems to.
SET gpujoin.enable_aggregates = off;
CREATE TABLE t_dim (id int PRIMARY KEY, name text);
INSERT INTO t_dim SELECT g, 'dim ' || g FROM generate_series(1, 500) g;
ANALYZE t_dim;

-- columns added with a default, dropped, added again
CREATE TABLE t_old (id int, gone text, kept int8);
INSERT INTO t_old SELECT g, repeat('g', g % 40), g * 2 FROM generate_series(1, 400) g;
ALTER TABLE t_old ADD COLUMN seven int DEFAULT 7;
ALTER TABLE t_old ADD COLUMN word text DEFAULT 'added later';
ALTER TABLE t_old ADD COLUMN price numeric(8,2) DEFAULT 9.90;
ALTER TABLE t_old ADD COLUMN key uuid DEFAULT '00000000-0000-0000-0000-00000000002a';
ALTER TABLE t_old ADD COLUMN nothing int;
ALTER TABLE t_old DROP COLUMN gone;
INSERT INTO t_old (id, kept, seven, word, price, key, nothing)
SELECT g, NULL, -g, NULL, g, NULL, g FROM generate_series(401, 600) g;
ANALYZE t_old;
SELECT offloaded('SELECT o.*, d.name FROM t_old o JOIN t_dim d USING (id)');
SELECT offloaded('SELECT o.seven, o.price, d.name FROM t_old o JOIN t_dim d USING (id) WHERE o.seven = 7 AND o.price > 9.8999');
SELECT offloaded('SELECT o.word, d.name FROM t_old o JOIN t_dim d USING (id) WHERE o.nothing IS NULL');
SELECT offloaded('SELECT o.word, d.name FROM t_old o JOIN t_dim d USING (id) WHERE o.word IS NULL AND o.nothing IS NOT NULL');

-- pages that are not all visible
UPDATE t_old SET kept = kept + 1 WHERE id % 3 = 0;
DELETE FROM t_old WHERE id % 5 = 0;
SELECT offloaded('SELECT o.*, d.name FROM t_old o JOIN t_dim d USING (id)');
BEGIN;
INSERT INTO t_old (id, seven) VALUES (1, 1000);
SAVEPOINT s;
DELETE FROM t_old WHERE id < 100;
SELECT offloaded('SELECT o.id, o.seven, d.name FROM t_old o JOIN t_dim d USING (id)');
ROLLBACK TO s;
SELECT offloaded('SELECT o.id, o.seven, d.name FROM t_old o JOIN t_dim d USING (id)');
ROLLBACK;
VACUUM t_old;
SELECT offloaded('SELECT o.*, d.name FROM t_old o JOIN t_dim d USING (id)');

-- conditions that the page feed evaluates
CREATE TABLE t_cond (id int, s int2, i int, l int8, d date, ts timestamp, tz timestamptz, n numeric(9,3), z numeric);
INSERT INTO t_cond SELECT g, g % 100, CASE WHEN g % 11 > 0 THEN g END, g * 10, date '2020-01-01' + g,
    timestamp '2020-01-01' + g * interval '1 h', timestamptz '2020-01-01 00:00+00' + g * interval '1 d',
    CASE g % 13 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' ELSE g / 8.0 END, g
FROM generate_series(1, 500) g;
ANALYZE t_cond;
SELECT c || ' ' || op || ' ' || v AS condition, offloaded(format(
    'SELECT t.id, d.name FROM t_cond t JOIN t_dim d USING (id) WHERE t.%s %s %s', c, op, v))
FROM (VALUES ('s', '50'), ('s', '50::int8'), ('i', '250'), ('l', '2500::int2'), ('l', '99999999999'),
             ('d', 'date ''2020-06-01'''), ('ts', 'timestamp ''2020-01-10 03:00'''),
             ('tz', 'timestamptz ''2021-01-01 00:00+00'''), ('n', '25.125'), ('n', '25.12501'),
             ('n', '''NaN'''), ('n', '''Infinity'''), ('n', '-1e30'), ('n', '1e30'), ('n', 'NULL')) x(c, v),
     unnest(ARRAY['<', '<=', '=', '>=', '>', '<>']) op
ORDER BY c, v, op;
SELECT offloaded('SELECT t.id FROM t_cond t JOIN t_dim d USING (id) WHERE 250 > t.i AND t.i IS NOT NULL AND t.n IS NULL');
SELECT offloaded('SELECT t.id FROM t_cond t JOIN t_dim d USING (id) WHERE t.d BETWEEN ''-infinity'' AND ''infinity''');
-- lists, texts, and two columns of a row; in t_all no value is NULL
CREATE TABLE t_all (id int NOT NULL, v varchar(20) NOT NULL, n numeric(9,3) NOT NULL, m numeric(12,3) NOT NULL, c char(6) NOT NULL,
    i int NOT NULL, l int8 NOT NULL, d date NOT NULL, e date NOT NULL, t text NOT NULL, s int2 NOT NULL);
INSERT INTO t_all SELECT g, left('varchar', g % 8), g % 10 / 8.0, g % 8 / 10.0, (ARRAY['AIR', 'RAIL', 'MAIL ', '', 'M'])[g % 5 + 1],
    g % 37, g % 31 * 3, date '2020-01-01' + g % 50, date '2020-01-01' + g % 23 * 2,
    CASE g % 50 WHEN 0 THEN repeat('long', 5000) WHEN 1 THEN 'a ' ELSE 'a' || g % 3 END, g % 29 FROM generate_series(1, 500) g;
CREATE TABLE t_some AS SELECT id, nullif(v, 'var') AS v, nullif(n, 0.25) AS n, m, CASE WHEN c <> '' THEN c END AS c,
    nullif(i, 5) AS i, nullif(l, 9) AS l, d, nullif(e, '2020-01-05') AS e, nullif(t, 'a1') AS t, s FROM t_all;
ALTER TABLE t_some ALTER n TYPE numeric(9,3), ALTER c TYPE char(6);
ALTER TABLE t_some ADD COLUMN added char(5) DEFAULT 'new', ADD COLUMN more int DEFAULT 3;
INSERT INTO t_some SELECT id + 1, v, n, m, c, i, l, d, e, t, s, 'old', i FROM t_all WHERE id < 100;
VACUUM ANALYZE t_all, t_some;
SELECT c AS condition, offloaded(format('SELECT t.*, d.name FROM t_all t JOIN t_dim d USING (id) WHERE %s', c)) AS not_null,
    offloaded(format('SELECT t.*, d.name FROM t_some t JOIN t_dim d USING (id) WHERE %s', c)) AS nullable
FROM unnest(ARRAY[
    't.v = ''varch''', '''varch'' <> t.v', 't.v IN (''v'', ''va '', '''', NULL)', 't.v = ''''', 't.v <> NULL', 't.v = ANY (NULL::text[])',
    't.v = ANY (''{}'')', 't.c = ''MAIL''', 't.c = ''MAIL ''::varchar', 't.c <> ''M''', 't.c IN (''RAIL'', ''AIR  '', ''RAILS'')', 't.c = ''''',
    't.c::text = ''MAIL ''', 't.t = repeat(''long'', 5000)', 't.t IN (''a1'', ''a2'', repeat(''long'', 5001))', 't.t <> ''a ''', 't.t = ''a''',
    't.t LIKE ''a%'' AND t.c = ''M''', 't.i IN (1, 5, 36, 99)', 't.i IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, NULL)', 't.i NOT IN (1, 5)',
    't.l IN (3, 9, 90)', 't.l = ANY (''{3,9,4000000000}''::int8[])', 't.s = ANY (''{1,2,40000}''::int[])', 't.d IN (''2020-01-05'', ''2020-02-01'')',
    't.d IN (timestamp ''2020-01-05'', timestamp ''2020-02-01 12:00'')', 't.i < t.l', 't.l >= t.i', 't.i = t.s', 't.s <> t.i AND t.i > 9', 't.d < t.e',
    't.d = t.e', 't.e <= t.d AND t.v <> ''v''', 't.n < t.m', 't.n = t.m', 't.n <> t.m AND t.n >= t.m', 't.n > t.l', 't.id = t.id',
    't.d > t.e AND t.n > 0.5 AND t.i IN (3, 4, 5) AND t.c <> ''RAIL'' AND t.s + 0 > 3']) c;
SELECT offloaded('SELECT t.*, d.name FROM t_some t JOIN t_dim d USING (id) WHERE t.added = ''new'' AND t.more IN (2, 3) AND t.more < t.s');
SELECT offloaded('SELECT t.id, d.name FROM t_some t JOIN t_dim d USING (id) WHERE t.added <> ''new'' AND t.more = t.i');
PREPARE listed(text[], char(6), date) AS SELECT count(*), sum(t.id) FROM t_all t JOIN t_dim d USING (id) WHERE t.v = ANY ($1) AND t.c <> $2 AND t.d <> $3;
SET plan_cache_mode = force_generic_plan;
SET gpujoin.debug_force = on;
EXECUTE listed('{varc,v}', 'MAIL', '2020-01-05');
EXECUTE listed('{varchar}', 'M', NULL);
EXECUTE listed('{varchar,NULL}', '', '2020-02-02');
SET gpujoin.enabled = off;
EXECUTE listed('{varc,v}', 'MAIL', '2020-01-05');
EXECUTE listed('{varchar,NULL}', '', '2020-02-02');
RESET gpujoin.enabled;
RESET gpujoin.debug_force;
RESET plan_cache_mode;
DEALLOCATE listed;
-- and that only the executor does
SELECT offloaded('SELECT t.id FROM t_cond t JOIN t_dim d USING (id) WHERE t.z > 3 OR t.i = 1');

-- values out of line and compressed; one longer than a batch can hold
CREATE TABLE t_long (id int, plain text, packed text, after int);
ALTER TABLE t_long ALTER plain SET STORAGE EXTERNAL;
INSERT INTO t_long SELECT g, (SELECT string_agg(md5((g * 1000 + i)::text), '') FROM generate_series(1, g) i),
    repeat('compressible ', g * 20), g FROM generate_series(1, 300) g;
INSERT INTO t_long VALUES (301, repeat('0123456789', 700000), repeat('z', 9000000), 301),
    (302, NULL, '', 302), (303, repeat('y', 65530), repeat('y', 65531), 303), (304, repeat('y', 65532), repeat('y', 65533), 304),
    (305, repeat('y', 126), repeat('y', 127), 305);
ANALYZE t_long;
SELECT offloaded('SELECT l.*, d.name FROM t_long l JOIN t_dim d USING (id)');
SELECT offloaded('SELECT l.*, d.name FROM t_long l JOIN t_dim d USING (id) WHERE l.after + 0 > 0');
-- a key that is too long: native plan
SELECT offloaded('SELECT a.id, b.id FROM t_long a JOIN t_long b ON a.plain = b.plain');
-- but is a key only where it is compared
SELECT offloaded('SELECT a.id, b.plain FROM t_long a JOIN t_long b ON a.packed = b.packed WHERE a.id < 100 AND b.id < 200');
-- searched in a list
SELECT t.id, offloaded(format('SELECT l.id FROM t_long l JOIN t_dim d USING (id) WHERE l.plain IN (''x'', %L)', t.plain)) AS in_list,
    offloaded(format('SELECT l.id FROM t_long l JOIN t_dim d USING (id) WHERE l.plain NOT IN (''x'', %L)', t.plain)) AS not_in_list,
    offloaded(format('SELECT l.id FROM t_long l JOIN t_dim d USING (id) WHERE l.plain = %L', t.plain)) AS equal
FROM t_long t WHERE t.id IN (2, 200) ORDER BY 1;

-- attributes of all alignments behind texts of all lengths, without NULLs
CREATE TABLE t_mixed (id int NOT NULL, b bool NOT NULL, t text NOT NULL, s int2 NOT NULL, c "char" NOT NULL, l int8 NOT NULL,
    u varchar NOT NULL, v varchar NOT NULL, w char(40) NOT NULL, x text NOT NULL, n numeric(10,2) NOT NULL, e bool NOT NULL,
    d date NOT NULL, m name NOT NULL, k uuid NOT NULL, y text NOT NULL, p point NOT NULL, o numeric(18,4) NOT NULL, i int NOT NULL);
INSERT INTO t_mixed SELECT g, g % 2 = 0, repeat('t', g % 150), g % 1000, (g % 127)::"char", -g, repeat('u', g % 7), repeat('v ', g % 5),
    repeat('w', g % 41), repeat(' ', g % 140), g % 10007 / 100.0 - 20, g % 3 = 0, date '2020-01-01' + g % 99, 'name' || g,
    md5(g::text)::uuid, repeat('y', g % 11 * 40), point(g, -g), g * 1234.5678, g % 500
FROM generate_series(1, 3000) g;
ALTER TABLE t_mixed ALTER x SET STORAGE PLAIN, ALTER y SET STORAGE EXTERNAL;
INSERT INTO t_mixed SELECT g, false, '', 0, 'c', g, 'u', 'v', 'w', repeat('x', g % 140), 0, true, '2020-01-01', 'name',
    md5(g::text)::uuid, repeat('y', 3000), point(g, g), 0.0001, g % 500 FROM generate_series(3001, 3100) g;
VACUUM ANALYZE t_mixed;
SELECT c AS condition, offloaded(format('SELECT t.*, d.name FROM t_mixed t JOIN t_dim d ON d.id = t.i WHERE %s', c)) AS all_columns,
    offloaded(format('SELECT t.k, t.w FROM t_mixed t JOIN t_dim d ON d.id = t.i WHERE %s', c)) AS some
FROM unnest(ARRAY['true', 't.n > 1.5', 't.s < 300 AND t.d > ''2020-02-01''', 't.n > 0 AND t.i < 300 AND t.l < -7 AND t.e AND t.u <> ''u''',
    't.o > 10000 AND t.y = '''' AND t.n <> 3', 't.w = ''www'' OR t.x = ''''', 't.i < t.s AND t.c <> ''a'' AND t.d < ''2020-03-01''']) c;
SELECT c AS key, offloaded(format('SELECT t.id, t.y, u.id FROM t_mixed t JOIN t_mixed u USING (%s) WHERE u.id %% 50 = 0 AND t.id < 500', c))
FROM unnest(ARRAY['t', 'u', 'v', 'w', 'x', 'n', 'y', 'o', 'm', 'l']) c;
CREATE TEMP TABLE t_temporary AS SELECT * FROM t_mixed;
ANALYZE t_temporary;
SELECT offloaded('SELECT t.*, d.name FROM t_temporary t JOIN t_dim d ON d.id = t.i WHERE t.n > 1.5');
UPDATE t_mixed SET t = t || 'longer', n = n + 1 WHERE id % 3 = 0;
DELETE FROM t_mixed WHERE id % 7 = 0;
SELECT offloaded('SELECT t.*, d.name FROM t_mixed t JOIN t_dim d ON d.id = t.i WHERE t.n > 1.5 AND t.d > ''2020-02-01''');

-- no rows, no columns, many columns
CREATE TABLE t_empty (id int, x text);
SELECT offloaded('SELECT * FROM t_empty e JOIN t_dim d USING (id)');
SELECT offloaded('SELECT count(*) FROM t_cond t JOIN t_dim d USING (id)');
DO $$ BEGIN
    EXECUTE 'CREATE TABLE t_wide (id int, ' ||
        (SELECT string_agg('c' || g || ' int8', ', ') FROM generate_series(1, 400) g) || ')';
    EXECUTE 'INSERT INTO t_wide SELECT r, ' ||
        (SELECT string_agg(CASE WHEN g % 9 = 0 THEN 'NULL' ELSE 'r + ' || g END, ', ') FROM generate_series(1, 400) g) ||
        ' FROM generate_series(1, 1000) r';
END $$;
ANALYZE t_wide;
SELECT offloaded('SELECT * FROM t_wide w JOIN t_dim d USING (id)');
DROP TABLE t_dim, t_old, t_cond, t_all, t_some, t_long, t_mixed, t_temporary, t_empty, t_wide;
