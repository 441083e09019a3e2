-- SELECTs whose rows go into a table.
CREATE TABLE w_l AS SELECT g % 500 AS id, g AS v FROM generate_series(1, 5000) g;
CREATE TABLE w_r AS SELECT g AS id, 'w' || g AS w FROM generate_series(1, 500) g;
CREATE TABLE w_to (id int, v int PRIMARY KEY, w text, n int GENERATED ALWAYS AS IDENTITY);
ANALYZE w_l, w_r;
SET gpujoin.debug_force = on;
SET gpujoin.min_rows = 0;

-- Runs a statement and reports how its join ran.
CREATE FUNCTION w_run(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || statement INTO plan;
    plan := jsonb_path_query_first(plan, 'strict $.**?(@."Custom Plan Provider" == "OffloadJoin")');
    RETURN format('%s rows from the daemon%s', plan ->> 'Rows Out', ', fallback ' || (plan ->> 'Fallback'));
END $$;
SELECT w_run('INSERT INTO w_to SELECT l.id, l.v, r.w FROM w_l l JOIN w_r r USING (id) WHERE l.v <= 3000');
SELECT count(*), sum(v), count(DISTINCT w), max(n) FROM w_to;

-- conflicts and RETURNING
WITH written AS (
    INSERT INTO w_to SELECT l.id, l.v, 'again' FROM w_l l JOIN w_r r USING (id)
    ON CONFLICT (v) DO UPDATE SET w = excluded.w || w_to.w RETURNING id, w LIKE 'againw%' AS met)
SELECT met, count(*), sum(id) FROM written GROUP BY met ORDER BY met;
-- the statement writes to a table that it reads
BEGIN;
INSERT INTO w_l SELECT l.id, l.v + 5000 FROM w_l l JOIN w_r r USING (id);
SELECT count(*), max(v) FROM w_l;
-- the same seen by a trigger, which runs a join of its own for some rows
CREATE FUNCTION w_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF new.v % 1000 = 1 THEN
        new.v := 100000 + (SELECT count(*) FROM w_l l JOIN w_r r USING (id) WHERE l.v <= 5000);
    END IF;
    RETURN new;
END $$;
CREATE TRIGGER w_count BEFORE INSERT ON w_l FOR EACH ROW EXECUTE FUNCTION w_count();
INSERT INTO w_l SELECT l.id, l.v + 10000 FROM w_l l JOIN w_r r USING (id) WHERE l.v <= 2500;
SELECT v, count(*) FROM w_l WHERE v >= 100000 GROUP BY v ORDER BY v;
ROLLBACK;

-- tables and views that are made
SELECT w_run('CREATE TABLE w_made AS SELECT l.v, r.w FROM w_l l JOIN w_r r USING (id)');
CREATE MATERIALIZED VIEW w_view AS SELECT l.v, r.w FROM w_l l JOIN w_r r USING (id);
SELECT count(*), sum(v) FROM w_made;
SELECT count(*), sum(v) FROM w_view;
-- an error in a row undoes all
INSERT INTO w_to SELECT l.id, l.v + 100000 + 0 / (r.id - 77), r.w FROM w_l l JOIN w_r r USING (id);
SELECT count(*) FROM w_to;
DROP MATERIALIZED VIEW w_view;
DROP TABLE w_made, w_to, w_l, w_r;
DROP FUNCTION w_run;
RESET gpujoin.debug_force;
RESET gpujoin.min_rows;
