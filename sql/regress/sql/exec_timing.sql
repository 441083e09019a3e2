-- What EXPLAIN ANALYZE says of an offloaded join. Numbers vary, and so does
-- the algorithm, but not that it matches and that its result is gathered.
CREATE TABLE t_big (id int, v int);
INSERT INTO t_big SELECT g % 5000, g FROM generate_series(1, 50000) g;
CREATE TABLE t_small (id int, w text);
INSERT INTO t_small SELECT g, 'w' || g FROM generate_series(1, 5000) g;
ANALYZE t_big, t_small;
SET gpujoin.debug_force = on;
SET gpujoin.min_rows = 0;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION explained(options text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, %s)
        SELECT b.v, s.w FROM t_big b JOIN t_small s USING (id)', options)
    LOOP
        CONTINUE WHEN line ~ 'Phase' AND line !~ 'Phase (match|gather):';
        line := regexp_replace(line, 'predicted [0-9.]+ ms, ', '');
        line := regexp_replace(line, 'Algorithm: [a-z-]+(, \d+ radix bits)?', 'Algorithm: A');
        line := regexp_replace(line, '\m[0-9.]+ ?(ms|kB|bytes)\M', 'N \1', 'g');
        RETURN NEXT regexp_replace(line, 'waited [0-9.]+', 'waited N');
    END LOOP;
END $$;
SELECT explained('TIMING OFF, SUMMARY OFF');
SELECT explained('TIMING OFF');
SELECT regexp_replace(e, 'time=\S+', 'time=N..N') FROM explained('TIMING ON') e;
-- the same as groups
CREATE FUNCTION keys_of_phases(options text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE format('EXPLAIN (ANALYZE, %s, FORMAT JSON)
        SELECT b.v, s.w FROM t_big b JOIN t_small s USING (id)', options) INTO plan;
    RETURN QUERY SELECT DISTINCT k FROM jsonb_path_query(plan, '$.**.Phases[*]') p,
        jsonb_object_keys(p) k WHERE k <> 'Predicted Time' ORDER BY k;
END $$;
SELECT keys_of_phases('TIMING ON');
SELECT keys_of_phases('TIMING OFF');
DROP TABLE t_big, t_small;
DROP FUNCTION explained, keys_of_phases;
