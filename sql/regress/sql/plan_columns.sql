-- How each type travels.
SET gpujoin.enable_aggregates = off;
SET search_path = plan;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

CREATE TYPE plan.pair AS (x int, y int);
CREATE TYPE plan.mood AS ENUM ('low', 'high');
CREATE DOMAIN plan.cents AS numeric(12,2);
CREATE DOMAIN plan.pairs AS plan.pair;
CREATE TABLE p (
    id int, bo bool, ch "char", i2 int2, i8 int8, f4 float4, f8 float8, mac macaddr, mac8 macaddr8,
    tz timetz, iv interval, u uuid, nm name, pt point, bx box, ln line, ci circle,
    n numeric, n2 numeric(18,2), n19 numeric(19,2), n0 numeric(5), nneg numeric(5,-2), nover numeric(2,4),
    dc plan.cents, en plan.mood, t text, c char(3), by bytea, ia int[], da float8[], js jsonb, tid tid);
CREATE TABLE q (id int, pr plan.pair, dp plan.pairs, pa plan.pair[]);

SELECT DISTINCT p.attname, j.type, j.encoding, j.width, j.align, j.attnum
FROM job_columns('SELECT p.* FROM p JOIN q USING (id)') j
JOIN pg_attribute p ON p.attrelid = 'p'::regclass AND p.attnum = j.attnum
WHERE j.relation = 'plan.p' ORDER BY j.attnum;

-- rows inside columns are not carried, arrays of rows are
SELECT gpujoins('SELECT pr FROM p JOIN q USING (id)');
SELECT gpujoins('SELECT dp FROM p JOIN q USING (id)');
SELECT gpujoins('SELECT pa FROM p JOIN q USING (id)');

-- only columns that are used are fed; there may be none
SELECT relation, attnum FROM job_columns('SELECT p.t FROM p JOIN q USING (id) WHERE p.i8 > 3');
SELECT relation, attnum FROM job_columns('SELECT count(*) FROM p JOIN q USING (id)');
-- names that JSON must escape
CREATE TABLE "we""ird\
	name" (id int);
SELECT DISTINCT relation FROM job_columns('SELECT 1 FROM p JOIN "we""ird\
	name" USING (id)');
DROP TABLE p, q, "we""ird\
	name";
