-- Keys of every type, with the values whose equality is not that of their bytes.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

CREATE TYPE colour AS ENUM ('red', 'green', 'blue');
CREATE DOMAIN fraction AS float8;
CREATE TABLE k (
    i4 int, i2 int2, i8 int8, n numeric, n2 numeric(10,2), f4 float4, f8 float8, fr fraction, b bool, ch "char", en colour,
    t text, v varchar(20), c char(10), nm name, d date, ts timestamp, tz timestamptz, ti time, tiz timetz, iv interval,
    mo money, ls pg_lsn, mac macaddr, mac8 macaddr8, ip inet, ci cidr, by bytea, bi bit(5), vb varbit, u uuid, x xid, x8 xid8, td tid, o oid);
INSERT INTO k SELECT g % 40, g % 40, g % 40, CASE WHEN g % 17 = 0 THEN 'NaN' WHEN g % 13 = 0 THEN g % 40 + 0.50 ELSE g % 40 END, g % 40,
    CASE g % 41 WHEN 0 THEN '-0' WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN 0.1 ELSE g % 40 END,
    CASE g % 43 WHEN 0 THEN '-0' WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN 0.1 ELSE g % 40 END,
    g % 5, g % 2 = 0, chr(65 + g % 5)::"char", (ARRAY['red', 'green', 'blue'])[1 + g % 3]::colour,
    CASE WHEN g % 3 = 0 THEN 'k' || g % 30 || '  ' ELSE 'k' || g % 30 END, 'k' || g % 31, 'k' || g % 32, 'k' || g % 33,
    CASE g % 20 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '5874897-12-31' WHEN 3 THEN '294277-01-01' WHEN 4 THEN '4714-11-24 BC'
        ELSE date '2020-01-01' + g % 30 END,
    CASE g % 21 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '294276-12-31 23:59:59.999999' WHEN 3 THEN '4714-11-24 BC'
        WHEN 4 THEN '2020-01-05 00:00:01' ELSE timestamp '2020-01-01' + g % 30 * interval '1 day' END,
    timestamptz '2020-01-01' + g % 20 * interval '1 h', time '10:00' + g % 20 * interval '1 min',
    CASE WHEN g % 2 = 0 THEN '10:00:00+02' ELSE '09:00:00+01' END::timetz,
    CASE g % 7 WHEN 0 THEN interval '1 mon' WHEN 1 THEN '30 days' WHEN 2 THEN '720:00' WHEN 3 THEN '-1 day 24:00' WHEN 4 THEN '0'
        WHEN 5 THEN '170000000 years' ELSE g % 3 * interval '1 h' END,
    (g % 20)::money, ('0/' || to_hex(g % 20))::pg_lsn, ('08:00:2b:01:02:0' || g % 10)::macaddr, ('08:00:2b:01:02:03:04:0' || g % 10)::macaddr8,
    CASE g % 5 WHEN 0 THEN ('2001:db8::' || g % 9)::inet WHEN 1 THEN ('10.0.0.' || g % 9 || '/24')::inet ELSE ('10.0.0.' || g % 9)::inet END,
    ('10.0.' || g % 9 || '.0/24')::cidr, ('x' || g % 20)::bytea, (g % 32)::bit(5), (g % 32)::bit(5)::varbit || CASE WHEN g % 2 = 0 THEN B'' ELSE B'0' END,
    md5((g % 20)::text)::uuid, (g % 30)::text::xid, (g % 30)::text::xid8, ('(0,' || 1 + g % 30 || ')')::tid, g % 30
FROM generate_series(1, 400) g;
INSERT INTO k (i4) VALUES (NULL);
ANALYZE k;

SELECT l || ' = ' || r AS key, block(format('SELECT a.i4, a.%1$s, b.%2$s FROM k a FULL JOIN k b ON a.%1$s = b.%2$s', l, r))
FROM (VALUES ('b', 'b'), ('ch', 'ch'), ('en', 'en'), ('o', 'o'), ('x', 'x'), ('x8', 'x8'), ('mo', 'mo'), ('ls', 'ls'), ('ti', 'ti'), ('tiz', 'tiz'),
    ('mac', 'mac'), ('mac8', 'mac8'), ('td', 'td'), ('ip', 'ip'), ('ci', 'ip'), ('by', 'by'), ('bi', 'bi'), ('vb', 'vb'),
    ('iv', 'iv'), ('f4', 'f4'), ('f4', 'f8'), ('f8', 'f4'), ('f8', 'f8'), ('f8', 'fr'), ('d', 'ts'), ('ts', 'd'), ('nm', 'nm'), ('nm', 't'), ('v', 'nm'),
    ('i4', 'n'), ('n', 'i2'), ('n2', 'i8'), ('i4', 'f8'), ('f4', 'i2'), ('i8', 'f4'), ('c', 't'), ('v', 'c'), ('ti', 'iv'), ('d', 'tz'), ('n', 'f8')) AS t(l, r);
-- ... fed by PostgreSQL's own scans
SET gpujoin.page_row_cost = 1e6;
SELECT l || ' = ' || r AS key, block(format('SELECT a.i4, a.%1$s, b.%2$s FROM k a JOIN k b ON a.%1$s = b.%2$s', l, r))
FROM (VALUES ('b', 'b'), ('en', 'en'), ('tiz', 'tiz'), ('mac', 'mac'), ('td', 'td'), ('ip', 'ip'), ('by', 'by'), ('iv', 'iv'), ('f4', 'f8'), ('f4', 'f4'),
    ('d', 'ts'), ('nm', 't'), ('i4', 'n'), ('i4', 'f8'), ('c', 't')) AS t(l, r);
RESET gpujoin.page_row_cost;
-- sides that are converted are computed by PostgreSQL's own scans
CREATE TABLE parent (k date);
INSERT INTO parent VALUES ('2020-01-05'), ('infinity');
ANALYZE parent;
EXPLAIN (COSTS OFF) SELECT a.i4, b.t FROM k a JOIN k b ON a.n = b.i8 AND upper(a.v) = upper(b.t) JOIN parent p ON p.k = b.ts::date;
SELECT block('SELECT a.i4, b.t FROM k a JOIN k b ON a.n = b.i8 AND upper(a.v) = upper(b.t) JOIN parent p ON p.k = b.ts::date');
SELECT block('WITH w AS MATERIALIZED (SELECT * FROM k) SELECT a.i4, b.t FROM w a JOIN (SELECT n, t FROM k UNION ALL SELECT i4, v FROM w) b ON a.i4 = b.n
    LEFT JOIN generate_series(1, 40) s(x) ON s.x = b.n');
-- keys that semi joins hide
SELECT block('SELECT f8 FROM k WHERE f8 IN (SELECT f4 FROM k WHERE f4 IN (SELECT f8 FROM k WHERE f8 < 9))');
SELECT block('SELECT b.ts, b.d FROM k a JOIN k b ON a.d = b.ts WHERE a.ts IN (SELECT d FROM k)');
SELECT block('SELECT a.iv FROM k a WHERE NOT EXISTS (SELECT FROM k b WHERE b.iv = a.iv AND b.en = ''red'') AND a.nm IN (SELECT t FROM k)');
-- groups, of which any row's value may be shown
SELECT c AS key, block(format('SELECT %s, count(*) FROM k GROUP BY 1', c))
FROM unnest(ARRAY['ch', 'en', 'mo', 'ls', 'ti', 'tiz', 'mac', 'mac8', 'td', 'ip', 'ci', 'by', 'bi', 'vb', 'x8', 'f4', 'f8', 'iv', 'nm', 'n']) c;

DROP TABLE k, parent;
DROP TYPE colour;
DROP DOMAIN fraction;
