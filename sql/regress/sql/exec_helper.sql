-- What the other exec_* tests share: runs a query offloaded and natively,
-- compares the results as multisets, and says which way it really took.
CREATE FUNCTION offloaded(query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
    way text;
    total bigint;
    differ bigint;
BEGIN
    PERFORM set_config('gpujoin.enabled', 'on', true),
            set_config('gpujoin.debug_force', 'on', true),
            set_config('gpujoin.min_rows', '0', true);
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query
        INTO plan;
    IF NOT jsonb_path_exists(plan, '$.**?(@."Custom Plan Provider" == "OffloadJoin")') THEN
        way := 'no OffloadJoin';
    ELSIF jsonb_path_exists(plan, '$.**."Fallback"') THEN
        way := 'native, ' || (jsonb_path_query_first(plan, '$.**."Fallback"') #>> '{}');
    ELSE
        way := 'daemon';
    END IF;

    EXECUTE 'CREATE TEMP TABLE got ON COMMIT DROP AS SELECT md5(q::text) AS t FROM (' || query || ') q';
    PERFORM set_config('gpujoin.enabled', 'off', true);
    EXECUTE 'CREATE TEMP TABLE want ON COMMIT DROP AS SELECT md5(q::text) AS t FROM (' || query || ') q';
    SELECT count(*) INTO total FROM want;
    SELECT count(*) INTO differ FROM (
        (TABLE got EXCEPT ALL TABLE want) UNION ALL (TABLE want EXCEPT ALL TABLE got)) d;
    DROP TABLE got, want;
    RETURN format('%s: %s rows, %s', way, total,
                  CASE differ WHEN 0 THEN 'same' ELSE differ || ' differ' END);
END $$;
