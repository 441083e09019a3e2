-- needs libxml
-- XMLTABLE as an input.
SET search_path = block;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

SELECT block('SELECT f.id, x.* FROM fact f JOIN xmltable(''//r'' PASSING xmlparse(document ''<l><r k="3">c</r><r k="4"/></l>'') COLUMNS k int PATH ''@k'', v text PATH ''.'') x ON f.dim = x.k');
