-- A star of four tables becomes one job, at default costs but for the daemon's
-- work, of which the rates and the load of the machine decide.
SET gpujoin.enable_aggregates = off;
SET search_path = plan;
SET gpujoin.ns_cost = 0.00003;
SET max_parallel_workers_per_gather = 0;

-- as if the fact table had ten million rows
BEGIN;
UPDATE pg_class SET reltuples = 1e7 WHERE oid = 'fact'::regclass;
EXPLAIN (COSTS OFF)
SELECT fact.id, dim_a.name, dim_b.name, dim_c.name
FROM fact JOIN dim_a ON fact.a = dim_a.id JOIN dim_b ON fact.b = dim_b.id
     JOIN dim_c ON fact.c = dim_c.id;
ROLLBACK;

-- as large as it is
SET gpujoin.min_rows = 10000;
SET gpujoin.startup_cost = 0;

EXPLAIN (COSTS OFF)
SELECT fact.id, dim_a.name, dim_b.name, dim_c.name
FROM fact JOIN dim_a ON fact.a = dim_a.id JOIN dim_b ON fact.b = dim_b.id
     JOIN dim_c ON fact.c = dim_c.id;
SELECT count(*), sum(fact.id), min(dim_a.name), max(dim_b.name), max(dim_c.name)
FROM fact JOIN dim_a ON fact.a = dim_a.id JOIN dim_b ON fact.b = dim_b.id
     JOIN dim_c ON fact.c = dim_c.id;
SET gpujoin.enabled = off;
SELECT count(*), sum(fact.id), min(dim_a.name), max(dim_b.name), max(dim_c.name)
FROM fact JOIN dim_a ON fact.a = dim_a.id JOIN dim_b ON fact.b = dim_b.id
     JOIN dim_c ON fact.c = dim_c.id;
RESET gpujoin.enabled;

-- a selective index scan is not displaced
CREATE INDEX ON fact (id);
ANALYZE fact;
SELECT gpujoins('SELECT * FROM fact JOIN dim_a ON fact.a = dim_a.id WHERE fact.id = 77');
SELECT gpujoins('SELECT * FROM fact JOIN dim_a ON fact.a = dim_a.id WHERE fact.id < 20');
-- without sequential scans there is no page feed where there is another scan
SET gpujoin.debug_force = on;
SELECT gpujoins('SELECT * FROM fact JOIN dim_a ON fact.a = dim_a.id WHERE fact.id < 150000');
SET enable_seqscan = off;
SELECT gpujoins('SELECT * FROM fact JOIN dim_a ON fact.a = dim_a.id WHERE fact.id < 150000');
RESET enable_seqscan;
RESET gpujoin.debug_force;
DROP INDEX fact_id_idx;

-- a sequential scan reads the rows that fail the condition, too
RESET gpujoin.min_rows;
SELECT gpujoins('SELECT * FROM fact JOIN dim_c ON fact.c = dim_c.id WHERE a < 1000');
-- too small, too dear, no daemon
SET gpujoin.min_rows = 1e6;
SELECT gpujoins('SELECT * FROM fact JOIN dim_c ON fact.c = dim_c.id WHERE a < 1000');
SET gpujoin.min_rows = 10000;
SET gpujoin.startup_cost = 1e6;
SELECT gpujoins('SELECT * FROM fact JOIN dim_c ON fact.c = dim_c.id');
SET gpujoin.startup_cost = 0;
SELECT gpujoins('SELECT count(*) FROM fact JOIN dim_c ON fact.c = dim_c.id');
SET gpujoin.socket = '/nonexistent/socket';
SELECT gpujoins('SELECT count(*) FROM fact JOIN dim_c ON fact.c = dim_c.id');
SET gpujoin.debug_force = on;
SELECT gpujoins('SELECT count(*) FROM fact JOIN dim_c ON fact.c = dim_c.id');

-- the JSON form has the same facts
RESET gpujoin.socket;
EXPLAIN (COSTS OFF, FORMAT JSON) SELECT price FROM fact JOIN dim_c ON fact.c = dim_c.id AND day > '2022-01-01';
