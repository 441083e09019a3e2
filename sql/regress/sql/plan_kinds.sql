-- Joins that are not inner: which are offered, as which job, and which are not.
SET gpujoin.enable_aggregates = off;
SET search_path = plan;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

-- a: some keys more than once, some NULL; b: half of a's keys; c: NULLs in all columns; empty
CREATE TABLE ka AS SELECT g AS id, nullif(g % 40, 7) AS x, g % 9 AS y, date '2024-01-01' + g % 30 AS day FROM generate_series(1, 300) g;
CREATE TABLE kb AS SELECT g AS id, nullif(g % 80, 11) AS x, g % 5 AS y, date '2024-01-01' + g % 60 AS day FROM generate_series(1, 200, 2) g;
CREATE TABLE kc AS SELECT nullif(g % 50, 3) AS id, nullif(g % 30, 4) AS x, nullif(g % 4, 1) AS y, g % 3 = 0 AS flag FROM generate_series(1, 150) g;
CREATE TABLE kempty (id int, x int, y int);
ANALYZE ka, kb, kc, kempty;

-- The joins of a query's OffloadJoins with their conditions, and how the rows
-- compare with those of the native plan. The order of several joins depends on
-- measured rates, and so do their keys: of those only the kinds are shown.
CREATE FUNCTION kinds(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
    lines text[];
    total bigint;
    differ bigint;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query
    LOOP
        IF line ~ '\(OffloadJoin\)' THEN
            lines := coalesce(lines, '{}');
        ELSIF line ~ '(Join:|Join Filter:|Filter:)' THEN
            lines := lines || trim(line);
        END IF;
    END LOOP;
    IF (SELECT count(*) FROM unnest(lines) l WHERE l ~ 'Join:') > 1 THEN
        lines := array(SELECT regexp_replace(l, '(Join): .*', '\1') FROM unnest(lines) l ORDER BY 1);
    END IF;
    RETURN QUERY SELECT unnest(coalesce(lines, '{native}'));
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query
    LOOP
        IF line ~ 'Fallback:' THEN
            RETURN NEXT trim(line);
        END IF;
    END LOOP;
    EXECUTE 'CREATE TEMP TABLE got AS SELECT q::text AS t FROM (' || query || ') q';
    PERFORM set_config('gpujoin.enabled', 'off', true);
    EXECUTE 'CREATE TEMP TABLE want AS SELECT q::text AS t FROM (' || query || ') q';
    PERFORM set_config('gpujoin.enabled', 'on', true);
    SELECT count(*) INTO total FROM want;
    SELECT count(*) INTO differ FROM (
        (TABLE got EXCEPT ALL TABLE want) UNION ALL (TABLE want EXCEPT ALL TABLE got)) d;
    DROP TABLE got, want;
    RETURN NEXT format('%s rows, %s', total, CASE differ WHEN 0 THEN 'same' ELSE differ || ' differ' END);
END $$;

-- each kind
SELECT kinds('SELECT * FROM ka WHERE EXISTS (SELECT FROM kb WHERE kb.x = ka.x)');
SELECT kinds('SELECT * FROM ka WHERE x IN (SELECT x FROM kb)');
SELECT kinds('SELECT * FROM ka WHERE NOT EXISTS (SELECT FROM kb WHERE kb.x = ka.x)');
SELECT kinds('SELECT * FROM ka WHERE x NOT IN (SELECT x FROM kb)');
SELECT kinds('SELECT * FROM ka LEFT JOIN kb ON kb.x = ka.x');
SELECT kinds('SELECT * FROM ka RIGHT JOIN kb ON kb.x = ka.x');
SELECT kinds('SELECT * FROM ka FULL JOIN kb ON kb.x = ka.x');
SELECT kinds('SELECT * FROM ka FULL JOIN kb USING (x, y)');
-- a left join that only keeps rows without a match; its columns are NULL
SELECT kinds('SELECT ka.* FROM ka LEFT JOIN kb ON kb.x = ka.x WHERE kb.x IS NULL');
SELECT kinds('SELECT * FROM ka LEFT JOIN kb ON kb.x = ka.x WHERE kb.x IS NULL');
SELECT kinds('SELECT ka.* FROM ka LEFT JOIN kb ON kb.x = ka.x WHERE kb.x IS NULL AND (kb.y IS NULL OR ka.y > 3)');
SELECT kinds('SELECT ka.* FROM ka LEFT JOIN kb ON kb.x = ka.x WHERE kb.x IS NULL AND coalesce(kb.y, 1) > ka.y');
-- empty sides
SELECT kinds('SELECT * FROM ka LEFT JOIN kempty e ON e.x = ka.x');
SELECT kinds('SELECT * FROM kempty e LEFT JOIN ka ON e.x = ka.x');
SELECT kinds('SELECT * FROM ka FULL JOIN kempty e ON e.x = ka.x');
SELECT kinds('SELECT * FROM ka WHERE EXISTS (SELECT FROM kempty e WHERE e.x = ka.x)');
SELECT kinds('SELECT * FROM ka WHERE NOT EXISTS (SELECT FROM kempty e WHERE e.x = ka.x)');
-- a table with itself
SELECT kinds('SELECT * FROM ka LEFT JOIN ka b ON b.x = ka.y');
SELECT kinds('SELECT * FROM ka WHERE NOT EXISTS (SELECT FROM ka b WHERE b.x = ka.y AND b.id <> ka.id)');

-- conditions of the join itself
SELECT kinds('SELECT * FROM ka LEFT JOIN kb ON kb.x = ka.x AND kb.y < ka.y');
SELECT kinds('SELECT * FROM ka LEFT JOIN kb ON kb.x = ka.x AND ka.y = 3');
SELECT kinds('SELECT * FROM ka LEFT JOIN kb ON kb.x = ka.x AND kb.y = 3');
SELECT kinds('SELECT * FROM ka FULL JOIN kb ON kb.x = ka.x AND NOT (ka.y < 5 AND kb.day >= ka.day)');
SELECT kinds('SELECT * FROM ka WHERE EXISTS (SELECT FROM kb WHERE kb.x = ka.x AND (kb.y <> ka.y OR kb.day IS NULL))');
SELECT kinds('SELECT * FROM ka WHERE NOT EXISTS (SELECT FROM kc WHERE kc.x = ka.x AND (kc.y > ka.y OR kc.flag))');
SELECT kinds('SELECT * FROM ka JOIN kc ON kc.x = ka.x AND (kc.y > ka.y OR NOT kc.flag)');
-- ... which the daemon cannot evaluate
SELECT kinds('SELECT * FROM ka LEFT JOIN kb ON kb.x = ka.x AND kb.y + ka.y < 6');
SELECT kinds('SELECT * FROM ka WHERE EXISTS (SELECT FROM kb WHERE kb.x = ka.x AND kb.y + ka.y < 6)');
SELECT kinds('SELECT * FROM ka WHERE ka.y + ka.x < 20 AND x IN (SELECT x FROM kb)');
-- conditions of its result
SELECT kinds('SELECT * FROM ka LEFT JOIN kb ON kb.x = ka.x WHERE kb.y IS NULL OR kb.y > ka.y');
SELECT kinds('SELECT * FROM ka LEFT JOIN kb ON kb.x = ka.x WHERE coalesce(kb.y, 3) + 0 > ka.y');
SELECT kinds('SELECT * FROM ka FULL JOIN kb ON kb.x = ka.x WHERE ka.y IS NULL OR kb.y IS NULL');

-- several kinds in one job
SELECT kinds('SELECT * FROM ka JOIN kb ON kb.x = ka.x LEFT JOIN kc ON kc.id = kb.id');
SELECT kinds('SELECT * FROM ka LEFT JOIN (kb JOIN kc ON kc.id = kb.id) ON kb.x = ka.x');
SELECT kinds('SELECT * FROM ka LEFT JOIN kb ON kb.x = ka.x LEFT JOIN kc ON kc.x = kb.y');
SELECT kinds('SELECT * FROM ka LEFT JOIN kb ON kb.x = ka.x FULL JOIN kc ON kc.x = kb.y');
SELECT kinds('SELECT * FROM ka JOIN kb ON kb.x = ka.x WHERE EXISTS (SELECT FROM kc WHERE kc.x = kb.y) AND NOT EXISTS (SELECT FROM kc WHERE kc.id = ka.id)');
SELECT kinds('SELECT * FROM ka LEFT JOIN kb ON kb.x = ka.x WHERE NOT EXISTS (SELECT FROM kc WHERE kc.x = kb.y)');
SELECT kinds('SELECT * FROM ka WHERE EXISTS (SELECT FROM kb WHERE kb.x = ka.x AND NOT EXISTS (SELECT FROM kc WHERE kc.id = kb.id))');
SELECT kinds('SELECT * FROM ka WHERE EXISTS (SELECT FROM kb LEFT JOIN kc ON kc.id = kb.id WHERE kb.x = ka.x AND kc.id IS NULL)');
-- deferred conditions: below the preserved side, and never below the other one
SELECT kinds('SELECT * FROM ka JOIN kb ON kb.x = ka.x AND kb.y + ka.y < 6 LEFT JOIN kc ON kc.id = kb.id');
SELECT kinds('SELECT * FROM kc LEFT JOIN (ka JOIN kb ON kb.x = ka.x AND kb.y + ka.y < 6) ON kc.id = kb.id');
SELECT kinds('SELECT * FROM kc FULL JOIN (ka JOIN kb ON kb.x = ka.x AND kb.y + ka.y < 6) ON kc.id = kb.id');
SELECT kinds('SELECT * FROM ka JOIN kb ON kb.x = ka.x AND kb.y + ka.y < 6 WHERE NOT EXISTS (SELECT FROM kc WHERE kc.id = kb.id)');
SELECT kinds('SELECT * FROM kc WHERE NOT EXISTS (SELECT FROM ka JOIN kb ON kb.x = ka.x AND kb.y + ka.y < 6 WHERE kc.id = kb.id)');
SELECT kinds('SELECT * FROM kc LEFT JOIN (SELECT kb.* FROM ka LEFT JOIN kb ON kb.x = ka.x WHERE coalesce(kb.y, 3) + 0 > ka.y) s ON kc.id = s.id');

-- a column of the inner side that an equality makes another join's key
SELECT kinds('SELECT ka.id, kc.y FROM ka, kc WHERE ka.x IN (SELECT kb.x FROM kb) AND kc.x = ka.x');
SELECT kinds('SELECT ka.id, f.note FROM ka, fact f, kc WHERE ka.x IN (SELECT kb.x FROM kb) AND kc.x = ka.x AND f.id = kc.x');
-- the rows of the inner side made distinct
SET enable_seqscan = off;
CREATE TABLE kbig AS SELECT g % 3 AS k FROM generate_series(1, 2000) g;
CREATE TABLE kmid AS SELECT g AS id, g AS v FROM generate_series(1, 2000) g;
CREATE INDEX ON kmid (id);
ANALYZE kbig, kmid;
RESET enable_seqscan;
SELECT kinds('SELECT * FROM kmid WHERE id IN (SELECT k FROM kbig)');
SELECT kinds('SELECT ka.id FROM ka, kmid WHERE (ka.x, kmid.v) IN (SELECT kbig.k, kbig.k FROM kbig)');

-- expressions below an outer join, and above one
SELECT kinds('SELECT * FROM ka LEFT JOIN (SELECT x, y + 1 AS z FROM kb) b ON b.x = ka.x');
SELECT kinds('SELECT * FROM ka LEFT JOIN (SELECT x, coalesce(y, 1) AS z FROM kb) b ON b.x = ka.x');
SELECT kinds('SELECT * FROM ka LEFT JOIN (SELECT kb.x, coalesce(kb.y, kc.y) AS z FROM kb JOIN kc ON kc.id = kb.id) b ON b.x = ka.x');
SELECT kinds('SELECT ka.id, coalesce(kb.y, 9) FROM ka LEFT JOIN kb ON kb.x = ka.x');
SELECT kinds('SELECT x, count(*), sum(ka.y), count(kb.y) FROM ka FULL JOIN kb USING (x) GROUP BY x');
SELECT kinds('SELECT count(*) FROM ka LEFT JOIN kb ON kb.x = ka.x LEFT JOIN kc ON kc.id = kb.id AND kc.y <= kb.y');

-- partitions, sharing, GEQO
CREATE TABLE kpart (id int, x int, y int) PARTITION BY HASH (id);
CREATE TABLE kpart0 PARTITION OF kpart FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE kpart1 PARTITION OF kpart FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO kpart SELECT id, x, y FROM ka;
ANALYZE kpart;
SELECT kinds('SELECT * FROM kpart LEFT JOIN kb ON kb.x = kpart.x');
SELECT kinds('SELECT * FROM kpart p FULL JOIN kpart q ON p.x = q.y');
SELECT kinds('SELECT * FROM kb WHERE NOT EXISTS (SELECT FROM kpart WHERE kb.x = kpart.x)');
SET geqo_threshold = 2;
SELECT kinds('SELECT * FROM ka LEFT JOIN kb ON kb.x = ka.x JOIN kc ON kc.id = ka.y WHERE EXISTS (SELECT FROM kpart WHERE kpart.x = ka.x)');
RESET geqo_threshold;

-- what EXPLAIN shows
EXPLAIN (COSTS OFF) SELECT ka.id FROM ka LEFT JOIN kb ON kb.x = ka.x AND kb.y < ka.y WHERE kb.y > 1 OR kb.y IS NULL;
EXPLAIN (COSTS OFF, FORMAT YAML) SELECT ka.id FROM ka LEFT JOIN kb ON kb.x = ka.x AND kb.y < ka.y WHERE kb.y > 1 OR kb.y IS NULL;


-- shared among processes: all participants feed, and each row returns once
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
ALTER TABLE ka SET (parallel_workers = 2);
ALTER TABLE kb SET (parallel_workers = 2);
ALTER TABLE kc SET (parallel_workers = 2);
SELECT gpujoins('SELECT count(*), sum(kb.y) FROM ka LEFT JOIN kb ON kb.x = ka.x AND kb.y < ka.y');
SELECT kinds('SELECT count(*), sum(kb.y) FROM ka LEFT JOIN kb ON kb.x = ka.x AND kb.y < ka.y');
SELECT gpujoins('SELECT count(*), sum(ka.id) FROM ka WHERE NOT EXISTS (SELECT FROM kb WHERE kb.x = ka.x)');
SELECT kinds('SELECT count(*), sum(ka.id) FROM ka WHERE NOT EXISTS (SELECT FROM kb WHERE kb.x = ka.x)');
SELECT gpujoins('SELECT count(*), sum(ka.id) FROM ka WHERE EXISTS (SELECT FROM kb LEFT JOIN kc ON kc.id = kb.id WHERE kb.x = ka.x AND kc.y IS NULL)');
SELECT kinds('SELECT count(*), sum(ka.id) FROM ka WHERE EXISTS (SELECT FROM kb LEFT JOIN kc ON kc.id = kb.id WHERE kb.x = ka.x AND kc.y IS NULL)');
-- PostgreSQL 15 has no parallel full join that could be the native plan of a shared one; 16 has
SELECT regexp_replace(gpujoins('SELECT count(*), sum(ka.id) FROM ka FULL JOIN kb ON kb.x = ka.x'), '^parallel ', '') AS gpujoins;
SELECT kinds('SELECT count(*), sum(ka.id) FROM ka FULL JOIN kb ON kb.x = ka.x');
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;

-- rescans, and a daemon that is away
SET max_parallel_workers_per_gather = 0;
SELECT count(*), sum(n) FROM kb o, LATERAL (SELECT count(*) AS n FROM ka LEFT JOIN kc ON kc.id = ka.x AND kc.y < ka.y WHERE ka.y > o.y AND kc.x IS NULL OFFSET 0) s;
SET gpujoin.enabled = off;
SELECT count(*), sum(n) FROM kb o, LATERAL (SELECT count(*) AS n FROM ka LEFT JOIN kc ON kc.id = ka.x AND kc.y < ka.y WHERE ka.y > o.y AND kc.x IS NULL OFFSET 0) s;
SET gpujoin.enabled = on;
PREPARE away AS SELECT count(*), sum(kb.y), count(kc.y) FROM ka LEFT JOIN kb ON kb.x = ka.x AND kb.y < ka.y FULL JOIN kc ON kc.id = kb.id;
EXECUTE away;
SET plan_cache_mode = force_generic_plan;
EXECUTE away;
SET gpujoin.socket = '/nonexistent/socket';
EXECUTE away;
RESET gpujoin.socket;
RESET plan_cache_mode;
SET gpujoin.verify = on;
EXECUTE away;
SELECT ka.id, f.note FROM ka, fact f, kc WHERE ka.x IN (SELECT kb.x FROM kb) AND kc.x = ka.x AND f.id = kc.x ORDER BY 1, 2 LIMIT 3;
RESET gpujoin.verify;

RESET gpujoin.debug_force;
RESET max_parallel_workers_per_gather;
