-- needs ICU
-- Equalities by a collation that equates different bytes are no keys.
SET search_path = plan;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

CREATE COLLATION plan.nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE k (i4 int4, t text, ci text COLLATE plan.nocase);
INSERT INTO k SELECT g, g, g FROM generate_series(1, 100) g;
ANALYZE k;
SELECT cond, key_classes('SELECT l.i4 FROM k l JOIN k r ON ' || cond)
FROM unnest(ARRAY['l.ci = r.ci', 'l.t = r.t COLLATE plan.nocase', 'l.ci = r.ci COLLATE "C"']) cond;
DROP TABLE k;
DROP COLLATION plan.nocase;
