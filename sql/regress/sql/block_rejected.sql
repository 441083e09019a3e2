-- Why an aggregation stays native; joins and aggregations with one reason have one notice.
SET search_path = block;
SET gpujoin.debug_force = on;
SET gpujoin.explain_rejected = on;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION planned(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query
    LOOP
        IF line ~ 'Aggregate|Unique|Offload' THEN
            RETURN NEXT trim(line);
        END IF;
    END LOOP;
END $$;
SELECT planned('SELECT string_agg(word, '','') FROM fact');
SELECT planned('SELECT f.f, sum(d.price) FROM fact f JOIN dim d ON f.dim = d.id GROUP BY f.f');
SELECT planned('SELECT grp, stddev(id) FROM fact GROUP BY ROLLUP (grp)');
SELECT planned('SELECT grp, generate_series(1, count(*)) FROM fact GROUP BY grp');
SELECT planned('SELECT count(*) FROM fact');
SELECT planned('SELECT count(*) FROM (SELECT id FROM fact OFFSET 0) s');
CREATE TABLE bare ();
SELECT planned('SELECT count(*) FROM bare');
DROP TABLE bare;
SELECT planned('SELECT sum(sqrt(id)) FROM fact');
SELECT planned('SELECT sum(id), random() FROM fact');
SELECT planned('SELECT count(id) FROM fact WHERE ctid > ''(0,1)'' AND random() > 2');
SELECT planned('SELECT max(ctid) FROM fact');
SELECT planned('SELECT grp, xmin::text FROM fact GROUP BY grp, xmin::text');
SELECT planned('SELECT d.id, (SELECT sum(f.id) FROM fact f WHERE f.dim = d.id) FROM dim d');
SELECT planned('SELECT d.id, (SELECT sum(f.id) FROM fact f HAVING sum(f.id) > d.id) FROM dim d');
SELECT planned('SELECT d.id, (SELECT sum(f.id + d.id) FROM fact f) FROM dim d');
-- ... below the level of the aggregation
SELECT planned('SELECT d.id, (SELECT sum(s.id) FROM (SELECT f.id FROM fact f WHERE f.dim = d.id OFFSET 0) s) FROM dim d');
SELECT planned('SELECT d.id, (SELECT sum(s.id) FROM (SELECT f.id FROM fact f WHERE f.dim = d.id UNION ALL SELECT f.id FROM fact f) s) FROM dim d');
SELECT planned('SELECT d.id, (WITH w AS MATERIALIZED (SELECT f.id FROM fact f WHERE f.dim = d.id) SELECT sum(w.id) FROM w) FROM dim d');
SELECT planned('SELECT d.id, (SELECT sum(f.id) FROM fact f WHERE f.grp < (SELECT max(g.grp) FROM fact g WHERE g.dim = d.id)) FROM dim d');
SELECT planned('SELECT d.id, s.sum FROM dim d, LATERAL (SELECT sum(t.id) FROM (SELECT f.id FROM fact f WHERE f.dim = d.id OFFSET 0) t) s');
-- ... but groups that are the same for all rows are read again
SELECT planned('SELECT d.id, (SELECT s.n FROM (SELECT grp, count(*) AS n FROM fact GROUP BY grp OFFSET 0) s WHERE s.grp = d.id) FROM dim d');
SELECT planned('SELECT d.id, (SELECT sum(f.id) FROM fact f WHERE f.grp < (SELECT max(g.grp) FROM fact g)) FROM dim d');
SELECT planned('SELECT count(*), sum(f.id) FROM fact f JOIN dim d ON f.dim = d.id AND sqrt(f.id) > d.id');
SELECT planned('UPDATE dim SET price = (SELECT sum(amount) FROM fact)');
SELECT planned('SELECT DISTINCT ON (grp) grp, id FROM fact ORDER BY grp, id');
SELECT planned('SELECT DISTINCT count(*), grp FROM fact GROUP BY grp');
SELECT planned('SELECT DISTINCT rank() OVER (ORDER BY grp) FROM fact');
SELECT planned('SELECT DISTINCT f FROM fact');
-- the reason of the joins below
SELECT planned('SELECT sum(f.id) FROM fact f JOIN dim d ON f.dim < d.id');
SELECT planned('SELECT sum(f.id), (SELECT sum(g.id) FROM fact g JOIN dim d ON g.dim < d.id) FROM fact f LEFT JOIN dim d ON f.dim < d.id');
-- no table, and blocks that are switched off
SELECT planned('SELECT sum(1)');
SET gpujoin.enable_aggregates = off;
SELECT planned('SELECT string_agg(word, '','') FROM fact');
RESET gpujoin.enable_aggregates;
-- size, and the daemon
RESET gpujoin.debug_force;
SELECT planned('SELECT grp, sum(id) FROM fact GROUP BY grp');
SET gpujoin.min_rows = 0;
SET gpujoin.socket = '/nonexistent/socket';
SELECT planned('SELECT grp, sum(id) FROM fact GROUP BY grp');
RESET gpujoin.socket;
DROP FUNCTION planned;
