-- Settings that switch nodes off: core compares such plans by other means since 18.
CREATE SCHEMA plan_disabled;
SET search_path = plan_disabled;
CREATE FUNCTION joins(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        RETURN NEXT substring(line FROM 'OffloadJoin|Merge Join|Hash Join|Nested Loop');
    END LOOP;
END $$;
SET gpujoin.enable_aggregates = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE a AS SELECT g AS k, g AS v FROM generate_series(1::int8, 50000) g;
CREATE TABLE b AS SELECT g AS k, g AS w FROM generate_series(1::int8, 50000) g;
CREATE TABLE small AS SELECT g AS k, g AS v FROM generate_series(1::int8, 100) g;
CREATE TABLE one AS SELECT 7::int8 AS k;
CREATE UNIQUE INDEX ON small (k, v);
CREATE UNIQUE INDEX ON one (k);
ANALYZE a, b, small, one;

-- a page feed takes the place of a sequential scan, where that is the only one
SET gpujoin.min_rows = 0;
SET gpujoin.startup_cost = 0;
SET enable_mergejoin = off;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT v, w FROM a JOIN b USING (k);
SET gpujoin.enable_aggregates = on;
EXPLAIN (COSTS OFF) SELECT count(*) FROM a JOIN b USING (k);
SET gpujoin.enable_aggregates = off;
-- not where there is another one
CREATE INDEX ON a (k);
EXPLAIN (COSTS OFF) SELECT a.k, w FROM a JOIN b USING (k);
RESET enable_seqscan;

-- the plan to fall back to is not the one that is switched off, though it costs less
SET gpujoin.debug_force = on;
SET enable_mergejoin = on;
SET enable_nestloop = off;
SET enable_hashjoin = off;
SET seq_page_cost = 100;
SELECT j FROM joins('SELECT small.k, v FROM small JOIN one ON small.v = one.k ORDER BY small.k') j WHERE j IS NOT NULL;
RESET ALL;
DROP SCHEMA plan_disabled CASCADE;
