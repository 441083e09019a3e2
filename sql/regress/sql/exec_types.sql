-- Every type travels as a payload; its bytes come back as they were.
CREATE TYPE mood AS ENUM ('low', 'fair', 'high');
CREATE DOMAIN cents AS numeric(12,2) CHECK (VALUE > -1000000);
CREATE TABLE t_payload AS
SELECT g AS id,
       g % 3 = 0 AS b, (g % 127)::"char" AS ch, g::int2 AS i2, -g AS i4,
       (g * 10000000000)::int8 AS i8, g::oid AS o, g / 7.0::float4 AS f4, -g / 3.0::float8 AS f8,
       g / 7.0 AS num, (g / 7.0)::numeric(10,2) AS dec, (-g)::numeric(18,0) AS whole,
       (g / 7.0)::numeric(30,20) AS wide, g::text::money AS cash, (g / 4.0)::cents AS dom,
       repeat('x', g % 200) AS txt, ('v' || g)::varchar(20) AS vc, ('c' || g)::char(10) AS bp,
       ('n' || g)::name AS nam, decode(lpad(to_hex(g), 8, '0'), 'hex') AS byt,
       date '2000-01-01' + g AS d, time '00:00' + g * interval '1 s' AS tm,
       timetz '00:00+02' + g * interval '1 s' AS ttz,
       timestamp '2000-01-01' + g * interval '1 h' AS ts,
       timestamptz '2000-01-01 00:00+00' + g * interval '1 h' AS tstz,
       g * interval '1 mon 2 d 3 s' AS iv, md5(g::text)::uuid AS u,
       macaddr '08:00:2b:01:02:03' AS mac, macaddr8 '08:00:2b:01:02:03:04:05' AS mac8,
       ('10.0.0.' || g % 256)::inet AS ip, '10.1.0.0/16'::cidr AS net,
       (g % 32)::bit(5) AS bits, g::bit(12)::varbit AS vbits,
       json_build_object('g', g) AS js, jsonb_build_object('g', g) AS jb,
       ('v' || g)::text AS x, to_tsvector('simple', 'word ' || g) AS tsv,
       to_tsquery('simple', 'w' || g) AS tsq, point(g, -g) AS pt, box(point(g, g), point(0, 0)) AS bx,
       lseg(point(0, 0), point(g, 1)) AS ls, circle(point(g, 0), 1) AS ci,
       polygon(box(point(g, g), point(0, 0))) AS poly,
       ARRAY[g, NULL, -g] AS ia, ARRAY['a' || g, repeat('b', g % 300)] AS ta,
       int4range(g, g + 5) AS rng, ('0/' || to_hex(g))::pg_lsn AS lsn,
       (ARRAY['low', 'fair', 'high']::mood[])[1 + g % 3] AS en, g::regclass AS rc,
       '1 2 3'::int2vector AS iv2, '4 5 6'::oidvector AS ov, '(0,1)'::tid AS ti, '77'::xid AS xi
FROM generate_series(1, 700) g;
INSERT INTO t_payload (id) SELECT g FROM generate_series(701, 705) g;
INSERT INTO t_payload (id, num, dec, whole, wide, f8, d, ts, txt)
VALUES (706, 'NaN', 'NaN', 'NaN', 'NaN', 'NaN', 'infinity', '-infinity', ''),
       (707, 'Infinity', -0.01, 999999999999999999, 0.1, '-0', '4714-11-24 BC', '4714-11-24 00:00:00 BC', repeat('ä', 5000)),
       (708, 123456789012345678901234567890.123456789, 99999999.99, -999999999999999999,
        1234567890.01234567890123456789, 1e-300, '5874897-12-31', '294276-12-31', 'é');
CREATE TABLE t_few (id int, tag text);
INSERT INTO t_few SELECT g, 'tag' || g FROM generate_series(1, 710) g WHERE g % 2 = 0 OR g > 690;
ANALYZE t_payload;
ANALYZE t_few;

SELECT offloaded('SELECT p.*, f.tag FROM t_payload p JOIN t_few f USING (id)');
-- one column at a time, so that each is also the only one
SELECT attname, offloaded(format('SELECT p.%I FROM t_payload p JOIN t_few f USING (id)', attname))
FROM pg_attribute WHERE attrelid = 't_payload'::regclass AND attnum > 0 ORDER BY attnum;
-- through the child feed
SELECT offloaded('SELECT p.*, f.tag FROM t_payload p JOIN t_few f USING (id) WHERE p.id + 0 > 100');

-- byte for byte
SET gpujoin.debug_force = on;
SET gpujoin.min_rows = 0;
SET gpujoin.verify = on;
SELECT count(*), count(s.dec), count(s.js)
FROM (SELECT p.*, f.tag FROM t_payload p JOIN t_few f USING (id) OFFSET 0) s;
RESET gpujoin.verify;

-- decimals of 18 digits with every scale: around powers of ten, and zero
DO $$ BEGIN
    EXECUTE 'CREATE TABLE t_scale (id int, ' ||
        (SELECT string_agg(format('d%s numeric(18,%s)', s, s), ', ') FROM generate_series(0, 18) s) || ')';
    EXECUTE 'INSERT INTO t_scale SELECT row_number() OVER (), ' ||
        (SELECT string_agg(format('v * 1e-%s', s), ', ') FROM generate_series(0, 18) s) ||
        ' FROM (SELECT DISTINCT sign * (10::numeric ^ p + d) * m AS v FROM generate_series(0, 17) p,
            unnest(ARRAY[-1, 0, 1]) d, unnest(ARRAY[1, 7, 9]) m, unnest(ARRAY[-1, 1]) sign) x
          WHERE abs(v) < 1e18';
END $$;
ANALYZE t_scale;
SELECT offloaded('SELECT a.* FROM t_scale a JOIN t_scale b USING (id)');
SET gpujoin.verify = on;
SELECT count(*), count(DISTINCT d0), count(DISTINCT d18), min(d9), max(d18), min(d1)
FROM (SELECT a.* FROM t_scale a JOIN t_scale b USING (id) OFFSET 0) x;
SELECT count(*) FROM t_scale a JOIN t_scale b ON a.d3 = b.d3 AND a.d18 = b.d18;
RESET gpujoin.verify;
DROP TABLE t_scale;

-- Keys of every supported type, NULLs among them.
SELECT k, offloaded(format(
    'SELECT a.id, b.id FROM t_payload a JOIN t_payload b ON a.%I = b.%I', k, k))
FROM unnest(ARRAY['id', 'i2', 'i8', 'o', 'd', 'ts', 'tstz', 'u', 'txt', 'vc', 'bp',
                  'num', 'dec', 'whole', 'wide']) k;
-- across widths and scales
SELECT offloaded('SELECT a.id, b.id FROM t_payload a JOIN t_payload b ON a.i2 = b.id');
SELECT offloaded('SELECT a.id, b.id, a.num, b.wide FROM t_payload a JOIN t_payload b ON a.num = b.wide');
SELECT offloaded('SELECT a.id, b.id FROM t_payload a JOIN t_payload b ON a.dec = b.whole');
SELECT offloaded('SELECT a.bp, b.txt FROM t_payload a JOIN t_payload b ON a.bp = b.bp');
SELECT offloaded('SELECT a.id, b.id FROM t_payload a JOIN t_payload b ON a.vc = b.x');
-- several keys at once
SELECT offloaded('SELECT a.id, b.id FROM t_payload a JOIN t_payload b
                  ON a.vc = b.vc AND a.i8 = b.i8 AND a.u = b.u AND a.bp = b.bp');

-- The representation of a key is not that of the payload.
CREATE TABLE t_scales (k numeric, c char(8));
INSERT INTO t_scales VALUES (1.0, 'a'), (1.00, 'a '), (1, 'a  '), ('NaN', 'b'), (100, ''), (1e2, ' ');
ANALYZE t_scales;
SET gpujoin.debug_force = on;
SELECT a.k, b.k FROM t_scales a JOIN t_scales b ON a.k = b.k ORDER BY a.k::text, b.k::text;
SELECT '[' || a.c || ']', count(*) FROM t_scales a JOIN t_scales b ON a.c = b.c GROUP BY 1 ORDER BY 1;
RESET gpujoin.debug_force;
DROP TABLE t_payload, t_few, t_scales;
DROP DOMAIN cents;
DROP TYPE mood;
