-- Row security and leaky operators.
SET search_path = plan;
SET gpujoin.debug_force = on;
SET gpujoin.explain_rejected = on;
SET max_parallel_workers_per_gather = 0;

CREATE ROLE regress_gpujoin_reader;
GRANT USAGE ON SCHEMA plan TO regress_gpujoin_reader;
CREATE TABLE secret (id int, tenant int, amount numeric(10,2), body text);
CREATE TABLE ref (id int, amount numeric(10,2));
INSERT INTO secret SELECT g, g % 3, g, 'body ' || g FROM generate_series(1, 300) g;
INSERT INTO ref SELECT g, g FROM generate_series(1, 300) g;
ANALYZE secret, ref;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY one ON secret USING (tenant = 1);
GRANT SELECT ON secret, ref TO regress_gpujoin_reader;
CREATE FUNCTION gossip(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS
$$BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END$$ STABLE;

SET ROLE regress_gpujoin_reader;
-- the executor applies the policy before anything leaves: child feed
EXPLAIN (COSTS OFF) SELECT body FROM secret JOIN ref USING (id) WHERE secret.id < 100;
SELECT count(*), sum(id), bool_and(tenant = 1) FROM secret JOIN ref USING (id);
-- an operator that might tell what it saw does not leave
EXPLAIN (COSTS OFF) SELECT body FROM secret JOIN ref USING (amount);
SELECT count(*), sum(secret.id) FROM secret JOIN ref USING (amount);
-- a leaky condition of the user sees permitted rows only
SELECT body FROM secret JOIN ref USING (id) WHERE gossip(body) AND secret.id < 6;
SELECT body FROM secret JOIN ref ON secret.id = ref.id AND gossip(body || ref.amount) AND secret.id < 6;
RESET ROLE;
-- without a policy both leave
EXPLAIN (COSTS OFF) SELECT body FROM secret JOIN ref USING (amount);

DROP TABLE secret, ref;
DROP FUNCTION gossip;
REVOKE USAGE ON SCHEMA plan FROM regress_gpujoin_reader;
DROP ROLE regress_gpujoin_reader;
