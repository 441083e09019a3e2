-- needs virtual generated columns
-- What PostgreSQL 18 brings for tables: virtual generated columns, and NOT NULL that is not
-- yet checked for the rows that are there.
SET search_path = block;
SET gpujoin.debug_force = on;
SET gpujoin.keep = always;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE virtual (
    id int, k int, word text, twice int GENERATED ALWAYS AS (k * 2) VIRTUAL,
    upper text GENERATED ALWAYS AS (upper(word)) VIRTUAL, third numeric GENERATED ALWAYS AS (k / 3.0) VIRTUAL);
INSERT INTO virtual (id, k, word) SELECT g, nullif(g % 40, 7), 'w' || g % 6 FROM generate_series(1, 500) g;
VACUUM (FREEZE, ANALYZE) virtual;

-- as output, group key, argument, join key and condition
SELECT block('SELECT v.id, v.twice, v.upper, d.label FROM virtual v JOIN dim d ON d.id = v.k');
SELECT block('SELECT v.twice, count(*) FROM virtual v JOIN dim d ON d.id = v.k GROUP BY 1');
SELECT block('SELECT v.upper, sum(v.twice), count(*) FROM virtual v JOIN dim d ON d.id = v.twice GROUP BY 1');
SELECT block('SELECT v.third, count(*) FROM virtual v JOIN dim d ON d.id = v.k GROUP BY 1');
SELECT block('SELECT x.twice, count(*) FROM virtual x JOIN virtual y ON x.twice = y.twice GROUP BY 1');
SELECT block('SELECT v.*, d.label FROM virtual v JOIN dim d ON d.id = v.k WHERE v.twice < 20');
-- NULL where an outer join has no row, although the expression alone may not be
SELECT block('SELECT d.id, v.twice, v.upper FROM dim d LEFT JOIN virtual v ON d.id = v.id AND v.twice = 8');
SELECT block('SELECT v.upper, count(*), count(v.twice) FROM dim d FULL JOIN virtual v ON d.id = v.twice GROUP BY 1');
SELECT block('SELECT d.id FROM dim d WHERE NOT EXISTS (SELECT 1 FROM virtual v WHERE v.twice = d.id)');
-- another expression needs no rewrite of the table, and no new columns in the daemon
ALTER TABLE virtual ALTER COLUMN twice SET EXPRESSION AS (k * 3);
SELECT block('SELECT v.twice, count(*) FROM virtual v JOIN dim d ON d.id = v.k GROUP BY 1');
SELECT block('SELECT d.id, v.twice FROM dim d LEFT JOIN virtual v ON d.id = v.twice');

CREATE TABLE virtual_parts (id int, k int, next int GENERATED ALWAYS AS (k + 1) VIRTUAL) PARTITION BY RANGE (id);
CREATE TABLE virtual_1 PARTITION OF virtual_parts FOR VALUES FROM (0) TO (100);
CREATE TABLE virtual_2 (k int, next int GENERATED ALWAYS AS (k + 2) VIRTUAL, id int);
ALTER TABLE virtual_parts ATTACH PARTITION virtual_2 FOR VALUES FROM (100) TO (1000);
INSERT INTO virtual_parts (id, k) SELECT g, g % 30 FROM generate_series(1, 500) g;
VACUUM (FREEZE, ANALYZE) virtual_parts;
-- each partition has its own expression
SELECT block('SELECT p.next, count(*) FROM virtual_parts p JOIN dim d ON d.id = p.next GROUP BY 1');
SELECT block('SELECT d.id, p.next FROM dim d LEFT JOIN virtual_parts p ON d.id = p.id AND p.next < 9');

CREATE TABLE unchecked (id int NOT NULL, k int);
INSERT INTO unchecked SELECT g, nullif(g % 20, 9) FROM generate_series(1, 300) g;
ALTER TABLE unchecked ADD CONSTRAINT unchecked_k NOT NULL k NOT VALID;
VACUUM (FREEZE, ANALYZE) unchecked;
-- NULLs are there
SELECT block('SELECT count(*), count(u.k), sum(u.k) FROM unchecked u JOIN dim d ON d.id = u.id');
SELECT block('SELECT d.id FROM dim d WHERE d.id NOT IN (SELECT k FROM unchecked)');
SELECT block('SELECT u.id FROM unchecked u WHERE u.k NOT IN (SELECT id FROM dim WHERE price > 50)');
DELETE FROM unchecked WHERE k IS NULL;
ALTER TABLE unchecked VALIDATE CONSTRAINT unchecked_k;
-- and now they are not
SELECT block('SELECT d.id FROM dim d WHERE d.id NOT IN (SELECT k FROM unchecked)');
SELECT block('SELECT u.id FROM unchecked u WHERE u.k NOT IN (SELECT id FROM dim WHERE price > 50)');

DROP TABLE virtual, virtual_parts, unchecked;
RESET gpujoin.keep;
