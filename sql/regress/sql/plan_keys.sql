-- Which equalities become keys, and how they are compared.
SET search_path = plan;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

CREATE DOMAIN plan.small AS int2;
CREATE TYPE plan.colour AS ENUM ('red', 'green');
CREATE TABLE k (
    i2 int2, i4 int4, i8 int8, o oid, d date, ts timestamp, tz timestamptz, u uuid,
    t text, v varchar(10), c char(10),
    n numeric, n2 numeric(10,2), m2 numeric(18,2), n3 numeric(10,3), wide numeric(19,2),
    dom plan.small, b bool, f float8, en plan.colour, nm name, ia int[], by bytea);
INSERT INTO k
SELECT g, g, g, g, date '2000-01-01' + g, timestamp '2000-01-01' + g * interval '1 h',
       timestamptz '2000-01-01' + g * interval '1 h', md5(g::text)::uuid,
       g, g, g, g, g, g, g, g, g, g % 2 = 0, g, 'red', g::text, ARRAY[g], g::text::bytea
FROM generate_series(1, 100) g;
ANALYZE k;

SELECT cond, key_classes('SELECT l.i4 FROM k l JOIN k r ON ' || cond)
FROM unnest(ARRAY[
    'l.i2 = r.i2', 'l.i2 = r.i4', 'l.i2 = r.i8', 'l.i4 = r.i4', 'l.i4 = r.i2', 'l.i8 = r.i4',
    'l.i8 = r.i2', 'l.o = r.o', 'l.d = r.d', 'l.ts = r.ts', 'l.tz = r.tz', 'l.u = r.u',
    'l.t = r.t', 'l.v = r.v', 'l.v = r.t', 'l.c = r.c', 'l.v::bpchar = r.c', 'l.dom = r.i8',
    'l.n = r.n', 'l.n2 = r.n2', 'l.n2 = r.m2', 'l.n2 = r.n3', 'l.n = r.n2', 'l.wide = r.wide',
    'l.b = r.b', 'l.f = r.f', 'l.en = r.en', 'l.nm = r.nm', 'l.nm = r.t', 'l.by = r.by', 'l.d = r.ts',
    'l.c = r.t', 'l.i4 = r.n', 'l.i4 = r.n2', 'l.i4 = r.f', 'lower(l.t) = r.v', 'l.ts::date = r.d',
    'l.i4 = r.i4 AND l.t = r.t AND l.n2 = r.n2',
    'r.i4 = l.i4 AND l.i8 < r.i8']) cond;

-- not ours: other types, conversions
SELECT cond, key_classes('SELECT l.i4 FROM k l JOIN k r ON ' || cond)
FROM unnest(ARRAY[
    'l.ia = r.ia', 'l.ts = r.tz', 'l.d = r.tz',
    'l.n = r.f', 'length(l.t) = r.i4', 'l.i4 + 1 = r.i4', 'l.i4 IS NOT DISTINCT FROM r.i4',
    'l.i4 < r.i4', 'l.i4 = l.i8 AND l.i4 < r.i4', 'l.i4 = r.i4 OR l.i8 = r.i8',
    '(l.i4, l.i8) < (r.i4, r.i8)', 'true']) cond;

-- a canonical form is a column of its own; the value travels only if needed
SELECT * FROM job_columns('SELECT l.c FROM k l JOIN k r ON l.c = r.c');
SELECT * FROM job_columns('SELECT l.n, l.n2 FROM k l JOIN k r ON l.n = r.n2');
SELECT * FROM job_columns('SELECT l.t, l.n2 FROM k l JOIN k r ON l.t = r.v AND l.n2 = r.m2');

-- several equalities of one class: each pair is compared somewhere
SELECT gpujoins('SELECT 1 FROM k x JOIN k y ON x.i4 = y.i4 JOIN k z ON y.i4 = z.i8');
SELECT count(*) FROM k x JOIN k y ON x.i4 = y.i4 JOIN k z ON y.i4 = z.i8;
SELECT count(*) FROM k x JOIN k y ON x.n2 = y.n AND x.c = y.v::bpchar JOIN k z ON z.t = y.t;
DROP TABLE k;
