-- Cached plans: parameters, and a daemon that goes after planning.
SET gpujoin.enable_aggregates = off;
SET search_path = plan;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;

PREPARE by_day(date, numeric) AS
SELECT count(*), sum(fact.id) FROM fact JOIN dim_c ON fact.c = dim_c.id
WHERE day = $1 AND price > $2;
EXPLAIN (COSTS OFF) EXECUTE by_day('2020-03-01', 10);
EXECUTE by_day('2020-03-01', 10);
EXECUTE by_day('2020-03-02', 1999.995);
EXECUTE by_day(NULL, NULL);

-- parameters in conditions over both tables
PREPARE pairs(int) AS
SELECT count(*) FROM fact JOIN dim_c ON fact.c = dim_c.id AND fact.a + dim_c.id < $1;
EXPLAIN (COSTS OFF) EXECUTE pairs(100);
EXECUTE pairs(100);
EXECUTE pairs(1000);

-- the plan is kept, the daemon is not: native rows
SET gpujoin.socket = '/nonexistent/socket';
EXECUTE by_day('2020-03-01', 10);
EXECUTE pairs(100);
RESET gpujoin.socket;

-- parameters of an outer query: rescans of one node
EXPLAIN (COSTS OFF)
SELECT dim_a.id, (SELECT count(*) FROM dim_b JOIN dim_c ON dim_b.id = dim_c.id WHERE dim_c.id < dim_a.id)
FROM dim_a WHERE dim_a.id <= 3;
SELECT dim_a.id, (SELECT count(*) FROM dim_b JOIN dim_c ON dim_b.id = dim_c.id WHERE dim_c.id < dim_a.id)
FROM dim_a WHERE dim_a.id <= 3 ORDER BY 1;
SELECT dim_a.id, (SELECT count(*) FROM dim_b JOIN dim_c ON dim_b.id = dim_c.id AND dim_b.id + dim_c.id < dim_a.id)
FROM dim_a WHERE dim_a.id <= 3 ORDER BY 1;
DEALLOCATE ALL;
