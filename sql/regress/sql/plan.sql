-- Objects and settings of the other plan_* tests.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpujoin;
RESET client_min_messages;
CREATE SCHEMA plan;
SET search_path = plan;

-- The OffloadJoins of a query's plan, each as its inputs (alias and feed) and the
-- number of joins; "native" if there is none.
CREATE FUNCTION gpujoins(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
    node jsonb;
    found_any boolean := false;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
    FOR node IN
        SELECT n FROM jsonb_path_query(plan,
            'strict $.**?(@."Custom Plan Provider" == "OffloadJoin")') n
    LOOP
        found_any := true;
        RETURN NEXT format('%sjoin of %s: %s joins%s',
            CASE WHEN (node ->> 'Parallel Aware')::boolean THEN 'parallel ' ELSE '' END,
            (SELECT string_agg(i ->> 'Alias' || ' ' || (i ->> 'Feed'), ', ' ORDER BY i ->> 'Alias')
             FROM jsonb_array_elements(node -> 'Inputs') i),
            jsonb_array_length(node -> 'Joins'),
            ', filter ' || (node ->> 'Filter'));
    END LOOP;
    IF NOT found_any THEN
        RETURN NEXT 'native';
    END IF;
END $$;

-- The columns of a query's only OffloadJoin, but for hidden ones, as its job describes them.
CREATE FUNCTION job_columns(query text)
RETURNS TABLE (relation text, attnum int, type regtype, role text, encoding text, width int, align int)
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE, FORMAT JSON) ' || query INTO plan;
    RETURN QUERY
    SELECT i ->> 'name', (c ->> 'attnum')::int, (c ->> 'type')::oid::regtype, c ->> 'role',
           c ->> 'encoding', (c ->> 'width')::int, (c ->> 'align')::int
    FROM jsonb_array_elements((jsonb_path_query_first(plan,
             'strict $.**?(@."Custom Plan Provider" == "OffloadJoin")') ->> 'Job')::jsonb -> 'inputs') i,
         jsonb_array_elements(i -> 'columns') WITH ORDINALITY AS c(c, n)
    WHERE n <= jsonb_array_length(i -> 'columns') - coalesce((i #>> '{kept,hidden}')::int, 0)
    ORDER BY i ->> 'name', n;
END $$;

-- Which inputs of a query's only job may be kept: their hidden columns, by attribute and
-- form, and their condition, where a column is its number.
CREATE FUNCTION kept(query text) RETURNS TABLE (input text, hidden text, condition text)
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE, FORMAT JSON) ' || query INTO plan;
    RETURN QUERY
    SELECT i ->> 'name',
           CASE WHEN i ? 'kept' THEN coalesce((SELECT string_agg((c ->> 'attnum') || ':' || (c ->> 'form'), ' ' ORDER BY n)
               FROM jsonb_array_elements(i -> 'columns') WITH ORDINALITY AS c(c, n)
               WHERE n > jsonb_array_length(i -> 'columns') - (i #>> '{kept,hidden}')::int), 'none') ELSE 'fed' END,
           regexp_replace(i #>> '{kept,condition}', '\{"input": \d+, "column": (\d+)\}', '\1', 'g')
    FROM jsonb_path_query((jsonb_path_query_first(plan, 'strict $.**.Job') #>> '{}')::jsonb, '$.inputs[*]') i
    ORDER BY 1;
END $$;

-- How a query's only OffloadJoin compares its keys.
CREATE FUNCTION key_classes(query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE, FORMAT JSON) ' || query INTO plan;
    RETURN coalesce((SELECT string_agg(k ->> 'class', ', ')
            FROM jsonb_path_query((jsonb_path_query_first(plan,
                'strict $.**?(@."Custom Plan Provider" == "OffloadJoin")') ->> 'Job')::jsonb,
                'strict $.root.**.keys[*]') k), 'native');
END $$;

-- A fact table and three dimensions that keep 10, 50 and 100 % of it.
CREATE TABLE fact AS
SELECT g AS id, (g % 10000)::int4 AS a, (g % 2000)::int8 AS b, (g % 500)::int4 AS c,
       (g / 100.0)::numeric(12,2) AS price, 'row ' || g AS note, date '2020-01-01' + g % 1000 AS day
FROM generate_series(1, 200000) g;
CREATE TABLE dim_a AS SELECT g AS id, 'a' || g AS name FROM generate_series(1, 1000) g;
CREATE TABLE dim_b AS SELECT g::int8 AS id, 'b' || g AS name FROM generate_series(1, 1000) g;
CREATE TABLE dim_c AS SELECT g AS id, 'c' || g AS name FROM generate_series(0, 499) g;
VACUUM ANALYZE fact, dim_a, dim_b, dim_c;
