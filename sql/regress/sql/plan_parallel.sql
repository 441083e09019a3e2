-- Parallel-aware nodes.
SET gpujoin.enable_aggregates = off;
SET search_path = plan;
SET gpujoin.debug_force = on;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
ALTER TABLE fact SET (parallel_workers = 2);
ALTER TABLE dim_c SET (parallel_workers = 0);

EXPLAIN (COSTS OFF)
SELECT count(*), sum(fact.id) FROM fact JOIN dim_c ON fact.c = dim_c.id;
SELECT count(*), sum(fact.id) FROM fact JOIN dim_c ON fact.c = dim_c.id;
SELECT gpujoins('SELECT count(*) FROM fact JOIN dim_a ON fact.a = dim_a.id JOIN dim_b ON fact.b = dim_b.id JOIN dim_c ON fact.c = dim_c.id AND abs(dim_b.id) > dim_c.id');
SELECT count(*) FROM fact JOIN dim_a ON fact.a = dim_a.id JOIN dim_b ON fact.b = dim_b.id JOIN dim_c ON fact.c = dim_c.id AND abs(dim_b.id) > dim_c.id;

-- parallel participants do not run parallel-restricted expressions
CREATE FUNCTION plan.restricted(int) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL RESTRICTED AS 'BEGIN RETURN true; END';
SELECT gpujoins('SELECT count(*) FROM fact JOIN dim_c ON fact.c = dim_c.id AND plan.restricted(fact.a + dim_c.id)');
-- no table worth sharing
ALTER TABLE fact SET (parallel_workers = 0);
ALTER TABLE dim_a SET (parallel_workers = 0);
SELECT gpujoins('SELECT count(*) FROM fact JOIN dim_c ON fact.c = dim_c.id JOIN dim_a ON fact.a = dim_a.id');
-- only the leader may run the serial node
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
EXPLAIN (COSTS OFF)
SELECT count(*) FROM fact JOIN dim_c ON fact.c = dim_c.id;
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
-- verification compares whole results: one process
ALTER TABLE fact SET (parallel_workers = 2);
SET gpujoin.verify = on;
SELECT gpujoins('SELECT count(*) FROM fact JOIN dim_c ON fact.c = dim_c.id');
RESET gpujoin.verify;
-- a forced node is shared where that saves more than a Gather costs
RESET parallel_tuple_cost;
SET parallel_setup_cost = 100000;
SELECT gpujoins('SELECT count(*) FROM fact JOIN dim_c ON fact.c = dim_c.id');
RESET parallel_setup_cost;
BEGIN;
UPDATE pg_class SET reltuples = 1e7 WHERE oid = 'fact'::regclass;
SELECT gpujoins('SELECT count(*) FROM fact JOIN dim_c ON fact.c = dim_c.id');
SELECT gpujoins('SELECT fact.id, dim_c.name FROM fact JOIN dim_c ON fact.c = dim_c.id');
ROLLBACK;
DROP FUNCTION plan.restricted;
ALTER TABLE fact RESET (parallel_workers);
ALTER TABLE dim_a RESET (parallel_workers);
ALTER TABLE dim_c RESET (parallel_workers);
