-- gpujoin.algorithm: which algorithm executes a job's joins, and what EXPLAIN
-- says of it.
CREATE TABLE a_big (id int, v int);
INSERT INTO a_big SELECT g % 5000, g FROM generate_series(1, 50000) g;
CREATE TABLE a_small (id int, n int, w text);
INSERT INTO a_small SELECT g, g % 10, 'w' || g FROM generate_series(1, 5000) g;
CREATE TABLE a_tiny (n int, x int);
INSERT INTO a_tiny SELECT g, g FROM generate_series(0, 9) g;
ANALYZE a_big, a_small, a_tiny;
SET gpujoin.debug_force = on;
SET gpujoin.min_rows = 0;
SET max_parallel_workers_per_gather = 0;
SET gpujoin.algorithm = 'merge';
SHOW gpujoin.algorithm;

-- the plan alone
EXPLAIN (COSTS OFF) SELECT b.v, s.n FROM a_big b JOIN a_small s USING (id);
SET gpujoin.algorithm = 'phj-om';
EXPLAIN (COSTS OFF) SELECT b.v, s.n FROM a_big b JOIN a_small s USING (id);
EXPLAIN (COSTS OFF, SETTINGS) SELECT b.v, s.n FROM a_big b JOIN a_small s USING (id);
RESET gpujoin.algorithm;

-- the lines about algorithms of an execution, and the rows
CREATE FUNCTION executed(algorithm text, query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    PERFORM set_config('gpujoin.algorithm', algorithm, true);
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query
    LOOP
        CONTINUE WHEN line !~ 'Algorithm|Join:';
        IF algorithm = 'auto' THEN
            line := regexp_replace(line, 'Algorithm: [a-z-]+(, \d+ radix bits)?', 'Algorithm: A');
        END IF;
        RETURN NEXT line;
    END LOOP;
    EXECUTE 'SELECT count(*) || '' rows, '' || sum(hashtext(q::text)::bigint) FROM (' || query || ') q' INTO line;
    RETURN NEXT line;
END $$;
SELECT a AS algorithm, e FROM unnest('{auto,phj-om,phj-um,smj-om,smj-um,npj}'::text[]) a,
    executed(a, 'SELECT b.v, s.n FROM a_big b JOIN a_small s USING (id)') e;
-- text does not move with the key
SELECT a AS algorithm, e FROM unnest('{phj-om,phj-um,smj-om}'::text[]) a,
    executed(a, 'SELECT s.w, t.w FROM a_small s JOIN a_small t USING (id)') e;
-- of more than one join, each says what it is
SELECT a AS algorithm, e FROM unnest('{phj-om,smj-um}'::text[]) a,
    executed(a, 'SELECT b.v, s.n, t.x FROM a_big b JOIN a_small s USING (id) JOIN a_tiny t USING (n)') e;

-- the same as properties
CREATE FUNCTION property(algorithm text, path text) RETURNS SETOF jsonb
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    PERFORM set_config('gpujoin.algorithm', algorithm, true);
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON)
        SELECT s.w, t.w FROM a_small s JOIN a_small t USING (id)' INTO plan;
    RETURN QUERY SELECT jsonb_path_query(plan, path::jsonpath);
END $$;
SELECT a AS algorithm, p AS property, property(a, 'strict $.**."' || p || '"')
FROM unnest('{auto,smj-om,smj-um}'::text[]) a, unnest('{Forced Algorithm,Algorithm Reason}'::text[]) p;

-- a prepared plan does what the setting says when it is executed
SET plan_cache_mode = force_generic_plan;
PREPARE p AS SELECT b.v, s.n FROM a_big b JOIN a_small s USING (id);
EXPLAIN (COSTS OFF) EXECUTE p;
SET gpujoin.algorithm = 'npj';
EXPLAIN (COSTS OFF) EXECUTE p;
RESET gpujoin.algorithm;
EXPLAIN (COSTS OFF) EXECUTE p;

-- in a parallel plan all participants work on one job
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT e FROM executed('smj-um', 'SELECT b.v, s.n FROM a_big b JOIN a_small s USING (id)') e;

DEALLOCATE p;
DROP TABLE a_big, a_small, a_tiny;
DROP FUNCTION executed, property;
