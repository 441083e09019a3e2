-- Dates compared with timestamps, as "date + interval" makes them, in the page
-- feed: each comparison natively and fed must count the same rows.
SET search_path = plan;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE days AS
SELECT g AS id, date '1999-12-20' + g AS d FROM generate_series(1, 30) g
UNION ALL SELECT 31, 'infinity' UNION ALL SELECT 32, '-infinity' UNION ALL SELECT 33, NULL
UNION ALL SELECT 34, '5874897-12-31' UNION ALL SELECT 35, '4714-11-24 BC';
CREATE TABLE others AS SELECT generate_series(1, 40) AS id;
ANALYZE days, others;

CREATE FUNCTION plan.counts(cond text, OUT feed text, OUT fed bigint, OUT native bigint)
LANGUAGE plpgsql AS $$
DECLARE
    query text := 'FROM days JOIN others USING (id) WHERE ' || cond;
BEGIN
    SET LOCAL gpujoin.debug_force = on;
    feed := gpujoins('SELECT 1 ' || query);
    EXECUTE 'SELECT count(*) ' || query INTO fed;
    SET LOCAL gpujoin.enabled = off;
    EXECUTE 'SELECT count(*) ' || query INTO native;
    SET LOCAL gpujoin.enabled = on;
END $$;

SELECT op, t, c.fed, c.feed LIKE '%days page%' AS page_fed, c.fed = c.native AS same
FROM unnest(ARRAY['<', '<=', '=', '>=', '>', '<>']) WITH ORDINALITY AS o(op, n),
     unnest(ARRAY['2000-01-01 00:00', '2000-01-01 00:00:00.000001', '1999-12-31 23:59:59.999999',
                  '1999-12-25 12:00', 'infinity', '-infinity', '294276-12-31 23:59:59']) AS t,
     counts(format('days.d %s timestamp %L', op, t)) AS c
ORDER BY n, t::timestamp;
SELECT c.fed, c.feed, c.fed = c.native AS same
FROM counts('timestamp ''2000-01-05 01:00'' > days.d AND days.d > date ''1999-12-30'' + interval ''1 day''') AS c;
DROP FUNCTION plan.counts;
DROP TABLE days, others;
