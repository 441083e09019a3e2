-- What the planner expects of tables that the daemon keeps: EXPLAIN says so, and conditions
-- cost what the daemon takes for them.
SET search_path = plan;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpujoin;
RESET client_min_messages;
SET max_parallel_workers_per_gather = 0;
-- VACUUM marks pages as all-visible only if the commit is on disk
SET synchronous_commit = on;
CREATE TABLE stored (id int, n int, note text, code char(4)) WITH (autovacuum_enabled = off);
INSERT INTO stored SELECT g, g % 1000, 'note ' || g % 1000, g % 100 FROM generate_series(1, 50000) g;
CREATE TABLE fresh (id int, n int) WITH (autovacuum_enabled = off);
INSERT INTO fresh SELECT g, g FROM generate_series(1, 50000) g;
VACUUM ANALYZE stored, fresh;
SELECT FROM gpujoin.flush_wal();
SELECT leaf, kept_columns, fraction FROM gpujoin.keep('stored');

CREATE FUNCTION inputs(query text, options text DEFAULT 'COSTS ON') RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query)
    LOOP
        IF line LIKE '%Input:%' THEN
            RETURN NEXT regexp_replace(trim(line), 'rows=\d+', 'rows=n');
        END IF;
    END LOOP;
END $$;
-- the daemon tells planners once a second what it has
DO $$
BEGIN
    FOR i IN 1..400 LOOP
        EXIT WHEN EXISTS (SELECT FROM plan.inputs('SELECT count(*), sum(n) FROM plan.stored') line WHERE line LIKE '%kept%');
        PERFORM pg_sleep(0.02);
    END LOOP;
END $$;

SET gpujoin.debug_force = on;
SELECT q, inputs(q) FROM unnest(ARRAY['SELECT sum(n) FROM stored', 'SELECT sum(n) FROM stored WHERE note ~ ''7''',
    'SELECT count(*) FROM stored JOIN fresh USING (id)']) q;
SELECT inputs('SELECT sum(n) FROM stored', 'COSTS OFF');
SET gpujoin.keep = off;
SELECT inputs('SELECT sum(n) FROM stored');
RESET gpujoin.keep;
CREATE FUNCTION inputs_json(query text) RETURNS TABLE (alias text, kept jsonb)
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN QUERY SELECT i ->> 'Alias', i -> 'Expected Kept Fraction' FROM jsonb_path_query(plan, '$.**.Inputs[*]') i ORDER BY 1;
END $$;
SELECT * FROM inputs_json('SELECT count(*) FROM stored JOIN fresh USING (id)');
RESET gpujoin.debug_force;

-- what conditions cost, cheapest first
SET gpujoin.estimate_native = off;
SET gpujoin.min_rows = 0;
SET gpujoin.startup_cost = 0;
CREATE FUNCTION cost(condition text) RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) SELECT sum(n) FROM plan.stored WHERE ' || condition INTO plan;
    RETURN jsonb_path_query_first(plan, '$.**?(@."Custom Plan Provider" == "OffloadBlock")."Total Cost"')::float8;
END $$;
SELECT c AS condition, cost(c) > coalesce(lag(cost(c)) OVER (ORDER BY k), 0) AS costs_more
FROM unnest(ARRAY['id > 0', 'note <> ''x''', 'note LIKE ''no%''', 'note LIKE ''%ote%''']) WITH ORDINALITY AS u(c, k)
ORDER BY k;
-- texts of few rows, after another condition
SELECT cost('note LIKE ''%ote%'' AND n = 1') < cost('note LIKE ''%ote%''') AS cheaper, cost('n > 0 AND id > 0') > cost('n > 0') AS dearer,
    cost('n = 1 OR n = 2 OR id = 3') > cost('id = 3') AS all_of_or, cost('code NOT IN (''x'', ''y'')') > cost('code <> ''x''') AS list;
-- keep() has kept code as it is returned, which the planner takes for what a join compares.
-- The native plan, which is cheaper than a job that feeds, runs until the daemon wants to
-- capture: then the job does so, and later ones are served.
CREATE TABLE codes (code char(4), n int) WITH (autovacuum_enabled = off);
INSERT INTO codes SELECT g % 100, g FROM generate_series(1, 10000) g;
VACUUM ANALYZE codes;
SELECT FROM gpujoin.flush_wal();
SELECT kept_columns FROM gpujoin.keep('codes');
SET gpujoin.page_row_cost = 100;
CREATE FUNCTION step() RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    a record;
    b record;
BEGIN
    SELECT * INTO a FROM gpujoin.session_blocks();
    PERFORM count(*), sum(s.n) FROM plan.stored s JOIN plan.codes c ON s.code = c.code WHERE c.n <= 100;
    SELECT * INTO b FROM gpujoin.session_blocks();
    WHILE (SELECT (status #>> '{kept,pending}')::int > 0 FROM gpujoin.daemon_status()) LOOP
        PERFORM pg_sleep(0.005);
    END LOOP;
    RETURN CASE WHEN b.captured > a.captured THEN 'captured' WHEN b.fed > a.fed THEN 'fed' WHEN b.kept + b.proved > a.kept + a.proved THEN 'served' ELSE 'native' END;
END $$;
DO $$
BEGIN
    FOR i IN 1..400 LOOP
        EXIT WHEN EXISTS (SELECT FROM plan.inputs('SELECT count(*), sum(s.n) FROM plan.stored s JOIN plan.codes c ON s.code = c.code WHERE c.n <= 100') line
                          WHERE line LIKE '%codes%kept%');
        PERFORM pg_sleep(0.02);
    END LOOP;
END $$;
SELECT step() FROM generate_series(1, 4);
RESET gpujoin.page_row_cost;

-- new rows, which no VACUUM has seen
SET gpujoin.debug_force = on;
INSERT INTO stored SELECT g, g % 1000, 'note ' || g % 1000, g % 100 FROM generate_series(1, 50000) g;
SELECT regexp_replace(inputs('SELECT sum(n) FROM stored'), 'kept \d+ %', 'kept in part');
RESET gpujoin.debug_force;
RESET gpujoin.estimate_native;
RESET gpujoin.min_rows;
RESET gpujoin.startup_cost;
DROP FUNCTION inputs, inputs_json, cost, step;
DROP TABLE stored, fresh, codes;
