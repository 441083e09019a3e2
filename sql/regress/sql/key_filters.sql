-- Filters that travel from small inputs to the feeds of large ones.
CREATE SCHEMA key_filters;
SET search_path = key_filters;
SET gpujoin.debug_force = on;
SET max_parallel_workers_per_gather = 0;

-- Keys of every width, with NULLs and keys without a partner.
CREATE TABLE fact (id int, a int, b int8, c int2, amount numeric(10,2), day date, note text);
INSERT INTO fact SELECT g, nullif(g % 500, 7), nullif(g % 301, 8), g % 200, (g % 97) * 0.25, date '2020-01-01' + g % 400, 'note ' || g
FROM generate_series(1, 20000) g;
CREATE TABLE big (id int PRIMARY KEY, kind int, region int8);
INSERT INTO big SELECT g, g % 50, g % 20 FROM generate_series(0, 999) g;
CREATE TABLE small (id int8 PRIMARY KEY, name text);
INSERT INTO small SELECT g, 'small ' || g FROM generate_series(0, 19) g;
CREATE TABLE cents (amount numeric(10,2), name text);
INSERT INTO cents SELECT g * 0.75, 'cents ' || g FROM generate_series(0, 9) g;
ANALYZE fact, big, small, cents;

-- How many filters a query's plan has, which rows they drop, and how the result compares with the native plan's.
CREATE FUNCTION travels(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
    n bigint;
    differ bigint;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query
    LOOP
        IF line ~ 'Key Filter|Keys:|Feed Order|Fallback|Input:|Removed by Filter: \d+$' THEN
            RETURN NEXT regexp_replace(trim(line), ' \(.*\), (page|child) feed', '');
        END IF;
    END LOOP;
    EXECUTE format('CREATE TEMP TABLE offloaded AS SELECT r::text AS r FROM (%s) r', query);
    SET LOCAL gpujoin.enabled = off;
    EXECUTE format('CREATE TEMP TABLE native AS SELECT r::text AS r FROM (%s) r', query);
    SET LOCAL gpujoin.enabled = on;
    SELECT count(*) INTO n FROM native;
    SELECT count(*) INTO differ FROM ((TABLE offloaded EXCEPT ALL TABLE native) UNION ALL (TABLE native EXCEPT ALL TABLE offloaded)) d;
    DROP TABLE offloaded, native;
    RETURN NEXT format('%s rows, %s', n, CASE differ WHEN 0 THEN 'same' ELSE differ || ' differ' END);
END $$;

-- the plan
EXPLAIN (COSTS OFF) SELECT f.id, b.kind FROM fact f JOIN big b ON f.a = b.id WHERE b.kind = 3;
SET gpujoin.enable_key_filters = off;
EXPLAIN (COSTS OFF) SELECT f.id, b.kind FROM fact f JOIN big b ON f.a = b.id WHERE b.kind = 3;
RESET gpujoin.enable_key_filters;

-- a filter of each input of a star, of keys of several widths
SELECT travels('SELECT f.id, b.kind, s.name FROM fact f JOIN big b ON f.a = b.id JOIN small s ON f.b = s.id WHERE b.kind < 5 AND s.id > 3');
-- a chain: small filters big, whose keys filter fact
SELECT travels('SELECT count(*), sum(f.amount) FROM fact f JOIN big b ON f.a = b.id JOIN small s ON b.region = s.id WHERE s.id < 2');
-- equal columns: big filters both others, whichever it is joined with
SELECT travels('SELECT f.id, g.id FROM fact f JOIN fact g ON f.a = g.a JOIN big b ON g.a = b.id WHERE b.kind = 3 AND f.id < 9000');
-- decimals
SELECT travels('SELECT f.id, c.name FROM fact f JOIN cents c ON f.amount = c.amount WHERE c.name <> ''cents 3''');
-- conditions on the page, before and after the walk, and row by row
SELECT travels('SELECT f.id FROM fact f JOIN big b ON f.a = b.id WHERE b.kind = 3 AND f.id < 9000 AND f.day > date ''2020-03-01'' AND f.note LIKE ''note 1%''');
-- a child feed
SET enable_seqscan = off;
CREATE INDEX ON fact (id);
SELECT travels('SELECT f.id, f.note FROM fact f JOIN big b ON f.a = b.id WHERE b.kind = 3 AND f.id BETWEEN 100 AND 9000');
RESET enable_seqscan;
-- no row has a partner: the large input is not read
SELECT travels('SELECT f.id FROM fact f JOIN small s ON f.b = s.id WHERE s.name = ''no such name''');

-- only the side that the join drops rows of
SELECT travels('SELECT f.id, s.name FROM fact f LEFT JOIN small s ON f.b = s.id AND s.id = 3');
SELECT travels('SELECT s.name, f.id FROM small s LEFT JOIN fact f ON f.b = s.id');
SELECT travels('SELECT s.name, f.id FROM fact f RIGHT JOIN small s ON f.b = s.id AND f.id > 500');
SELECT travels('SELECT s.name, f.id FROM fact f FULL JOIN small s ON f.b = s.id');
SELECT travels('SELECT f.id FROM fact f WHERE EXISTS (SELECT FROM small s WHERE s.id = f.b AND s.name LIKE ''%1'')');
SELECT travels('SELECT f.id FROM fact f WHERE NOT EXISTS (SELECT FROM small s WHERE s.id = f.b AND s.name LIKE ''%1'')');
SELECT travels('SELECT s.id FROM small s WHERE NOT EXISTS (SELECT FROM fact f WHERE f.b = s.id AND f.id > 19000)');
SELECT travels('SELECT s.id FROM small s WHERE EXISTS (SELECT FROM fact f WHERE f.b = s.id AND f.id > 19900)');
-- a filter passes through joins that keep the row
SELECT travels('SELECT f.id, b.kind, s.name FROM fact f LEFT JOIN big b ON f.a = b.id JOIN small s ON f.b = s.id WHERE s.id < 4');

-- most rows pass, or the input is not much smaller: no filter
SELECT travels('SELECT f.id FROM fact f JOIN big b ON f.a = b.id');
SELECT travels('SELECT f.id FROM fact f JOIN fact g ON f.id = g.id WHERE g.id < 8000');

-- nearly all rows turn out to pass: most of them are not tested
CREATE TABLE skewed AS SELECT CASE WHEN g % 1000 = 0 THEN g / 100 ELSE g % 10 END AS k FROM generate_series(1, 200000) g;
ANALYZE skewed;
SELECT travels('SELECT count(*) FROM skewed f JOIN small s ON f.k = s.id WHERE s.id < 10');

-- a rescan with another parameter gets other filters
SET plan_cache_mode = force_generic_plan;
PREPARE kind(int) AS SELECT count(*) FROM fact f JOIN big b ON f.a = b.id WHERE b.kind = $1;
EXECUTE kind(3);
EXECUTE kind(7);
EXECUTE kind(99);
SELECT k, (SELECT count(*) FROM fact f JOIN big b ON f.a = b.id WHERE b.kind = k) FROM generate_series(2, 4) k;

-- keys that are compared by their bytes, of which the daemon makes hashes: columns of several types and forms, with NULLs
CREATE TABLE people (id int, t text, v varchar(40), c char(12), n name, u uuid, num numeric, i interval, f float4, d date, tz timetz, mac macaddr, b bytea);
INSERT INTO people SELECT g, nullif('person ' || g % 500, 'person 7'), 'a longer name of a person ' || g % 500, 'p' || g % 500, 'person ' || g % 500,
    ('00000000-0000-4000-8000-' || lpad((g % 500)::text, 12, '0'))::uuid, (g % 500)::numeric + 0.50, make_interval(hours => g % 500),
    (g % 500) * 0.5, date '2020-01-01' + g % 500, timetz '00:00:00+02' + make_interval(mins => g % 500), ('08:00:2b:01:' || lpad(to_hex(g % 500 / 256), 2, '0') || ':' || lpad(to_hex(g % 256), 2, '0'))::macaddr,
    decode(lpad(to_hex(g % 500), 4, '0'), 'hex')
FROM generate_series(1, 20000) g;
CREATE TABLE chosen (id int, t text COLLATE "C", v varchar(60), c char(20), n name, u uuid, num numeric(12,3), i interval, f float8, d timestamp, tz timetz, mac macaddr, b bytea);
INSERT INTO chosen SELECT id, t, v, c, n, u, num, justify_hours(i), f, d, tz, mac, b FROM people WHERE id BETWEEN 1 AND 25;
ANALYZE people, chosen;

-- The filters of a query, and how the result compares with the native plan's. How many rows pass a Bloom filter depends on its seed.
CREATE FUNCTION travels_by_bytes(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    line text;
    part text[];
BEGIN
    FOR line IN SELECT travels(query)
    LOOP
        part := regexp_match(line, '(Keys: \d+, .*) Tested: (\d+) rows  Dropped: (\d+) rows');
        IF part IS NOT NULL THEN
            RETURN NEXT part[1] || CASE WHEN part[3]::int > part[2]::int * 0.9 THEN 'more than 90 % dropped' ELSE 'fewer dropped' END;
        ELSIF line !~ 'Removed by Filter' THEN
            RETURN NEXT line;
        END IF;
    END LOOP;
END $$;
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.t = c.t COLLATE "C"');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.v = c.v');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.c = c.c');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.n = c.n');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.n = c.t COLLATE "C"');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.t COLLATE "C" = c.n');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.u = c.u');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.num = c.num');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.i = c.i');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.tz = c.tz');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.b = c.b');
-- of at most 8 bytes: integers
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.f = c.f');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.d = c.d');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.mac = c.mac');
-- two columns: a filter of each
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.t = c.t COLLATE "C" AND p.u = c.u');
-- a chain by way of a name, and outer joins
SELECT travels_by_bytes('SELECT p.id, q.id FROM people p JOIN chosen c ON p.t COLLATE "C" = c.n JOIN people q ON q.n = c.n WHERE q.id < 900');
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p LEFT JOIN chosen c ON p.v = c.v');
SELECT travels_by_bytes('SELECT c.id, p.id FROM chosen c LEFT JOIN people p ON p.v = c.v');
SELECT travels_by_bytes('SELECT p.id FROM people p WHERE NOT EXISTS (SELECT FROM chosen c WHERE c.v = p.v)');
SELECT travels_by_bytes('SELECT c.id FROM chosen c WHERE NOT EXISTS (SELECT FROM people p WHERE c.v = p.v AND p.id > 900)');
-- texts of blanks only, of which the empty one equals no other; in bpchar, blanks at the end do not count
CREATE TABLE blanks AS SELECT g AS id, repeat(' ', g % 40) AS t, ('x' || repeat(' ', g % 3))::char(4) AS c FROM generate_series(1, 8000) g;
CREATE TABLE blank AS SELECT * FROM blanks WHERE t IN ('', '  ');
DELETE FROM blank WHERE id > 50;
ANALYZE blanks, blank;
SELECT travels_by_bytes('SELECT b.id, a.id FROM blanks b JOIN blank a ON b.t = a.t');
SELECT travels_by_bytes('SELECT b.id, a.id FROM blanks b JOIN blank a ON b.c = a.c AND b.id = a.id');
-- a child feed
SET enable_seqscan = off;
CREATE INDEX ON people (id);
SELECT travels_by_bytes('SELECT p.id, c.id FROM people p JOIN chosen c ON p.v = c.v AND p.u = c.u WHERE p.id BETWEEN 10 AND 12000');
RESET enable_seqscan;

-- values that are compressed or out of line pass untested
CREATE TABLE documents (id int, body text, raw text);
ALTER TABLE documents ALTER body SET STORAGE EXTENDED, ALTER raw SET STORAGE EXTERNAL;
INSERT INTO documents SELECT g, CASE WHEN g % 4 = 0 THEN repeat('body ' || g % 100, 1000) ELSE 'short ' || g % 100 END,
    CASE WHEN g % 5 = 0 THEN repeat('raw ' || g % 100, 1000) ELSE 'raw ' || g % 100 END
FROM generate_series(1, 4000) g;
CREATE TABLE sought AS SELECT id, body, raw FROM documents WHERE id <= 20;
ANALYZE documents, sought;
SELECT travels_by_bytes('SELECT d.id, s.id FROM documents d JOIN sought s ON d.body = s.body');
SELECT travels_by_bytes('SELECT d.id, s.id FROM documents d JOIN sought s ON d.raw = s.raw');

-- a rescan with another parameter
SET plan_cache_mode = force_generic_plan;
PREPARE named(text) AS SELECT count(*), count(DISTINCT p.t) FROM people p JOIN chosen c ON p.v = c.v WHERE c.t = $1 COLLATE "C";
EXECUTE named('person 3');
EXECUTE named('person 25');
EXECUTE named('nobody');
RESET plan_cache_mode;
SELECT k, (SELECT count(*) FROM people p JOIN chosen c ON p.v = c.v WHERE c.id = k) FROM generate_series(24, 26) k;

-- both plans return the same rows
SET gpujoin.verify = on;
SELECT count(*), sum(f.amount) FROM fact f JOIN big b ON f.a = b.id WHERE b.kind = 3;
RESET gpujoin.verify;

-- several processes share the filters
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT count(*), sum(f.amount) FROM fact f JOIN big b ON f.a = b.id JOIN small s ON b.region = s.id WHERE s.id < 2;
SELECT count(*), sum(f.amount) FROM fact f JOIN big b ON f.a = b.id JOIN small s ON b.region = s.id WHERE s.id < 2;
SELECT count(*), sum(f.amount), sum(b.kind) FROM fact f JOIN big b ON f.a = b.id WHERE b.kind = 3;
SET parallel_leader_participation = off;
SELECT count(*), sum(f.amount), sum(b.kind) FROM fact f JOIN big b ON f.a = b.id WHERE b.kind = 3;
SELECT count(*), sum(p.id), sum(c.id) FROM people p JOIN chosen c ON p.v = c.v AND p.u = c.u;

DROP SCHEMA key_filters CASCADE;
