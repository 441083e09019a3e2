-- Objects of foreign servers, as far as they need no source: options, privileges, errors.
-- In a database of its own, because other tests have the extension in theirs.
SELECT current_database() AS home \gset
CREATE DATABASE regress_gpujoin_objects;
\c regress_gpujoin_objects
SET client_min_messages = warning;
CREATE EXTENSION gpujoin;
RESET client_min_messages;
CREATE ROLE regress_gpujoin_owner;
CREATE ROLE regress_gpujoin_reader;
GRANT ALL ON SCHEMA public TO regress_gpujoin_owner;
\dew

-- options of servers
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (host 'db1', dbname 'shop', fetch_size '100');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (host 'db1', dbname 'shop', hostaddr '::1');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (host 'db1', dbname 'shop', password 'secret');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (host 'db1', dbname 'shop', updatable 'false');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (sslmode 'always');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (sslmode 'verify');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (connect_timeout 'long');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (freshness 'new');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (freshness '-5s');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (freshness_timeout '2 sheep');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (max_retained_wal '0');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (mix 'perhaps');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (publication '');
ALTER FOREIGN DATA WRAPPER gpujoin_fdw OPTIONS (host 'db1');
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw
    OPTIONS (host 'db1', port '5432', dbname 'shop', sslmode 'verify-full', sslrootcert '/etc/ssl/ca.pem', connect_timeout '5', publication 'p', slot 's',
             max_retained_wal '8GB', freshness 'latest', freshness_timeout '3s', mix 'off', mirror 'on', use_remote_estimate 'true');
ALTER SERVER shop OPTIONS (SET freshness '5s', DROP slot);
ALTER SERVER shop OPTIONS (ADD host 'db2');
\des+

-- options of user mappings
CREATE USER MAPPING FOR CURRENT_USER SERVER shop OPTIONS (host 'db1');
CREATE USER MAPPING FOR CURRENT_USER SERVER shop OPTIONS (user 'replica', password_required 'maybe');
CREATE USER MAPPING FOR regress_gpujoin_reader SERVER shop
    OPTIONS (user 'replica', password_required 'false', passfile '/etc/pass', sslcert '/etc/c', sslkey '/etc/k', slot 'mine');

-- options of tables and columns
CREATE FOREIGN TABLE item (id int OPTIONS (column_name 'i'), name text) SERVER shop OPTIONS (schema_name 'public', table_name 'items', host 'db1');
CREATE FOREIGN TABLE item (id int OPTIONS (table_name 'i'), name text) SERVER shop;
CREATE FOREIGN TABLE item (id int OPTIONS (column_name ''), name text) SERVER shop;
CREATE FOREIGN TABLE item (id int OPTIONS (column_name 'i') NOT NULL, name text COLLATE "C") SERVER shop
    OPTIONS (schema_name 'public', table_name 'items', freshness '1min', mirror 'off', use_remote_estimate 'off');
\d item
\det+

-- who may have which mapping
GRANT USAGE ON FOREIGN SERVER shop TO regress_gpujoin_owner;
SET ROLE regress_gpujoin_owner;
CREATE SERVER mine FOREIGN DATA WRAPPER gpujoin_fdw;
CREATE USER MAPPING FOR CURRENT_USER SERVER shop OPTIONS (user 'replica', password_required 'false');
CREATE USER MAPPING FOR CURRENT_USER SERVER shop OPTIONS (user 'replica', sslkey '/etc/k');
CREATE USER MAPPING FOR CURRENT_USER SERVER shop OPTIONS (user 'replica', passfile '/etc/pass');
CREATE USER MAPPING FOR CURRENT_USER SERVER shop OPTIONS (user 'replica', sslrootcert '/etc/ca');
CREATE USER MAPPING FOR CURRENT_USER SERVER shop OPTIONS (user 'replica', password_required 'true');
CREATE FOREIGN TABLE mine (id int, name text) SERVER shop;
SELECT umoptions FROM pg_user_mappings WHERE srvname = 'shop' ORDER BY usename;
-- a password is needed before anything is sent
SELECT * FROM mine;
SELECT gpujoin.mirror('mine');
EXPLAIN (COSTS off) SELECT * FROM mine;
IMPORT FOREIGN SCHEMA public FROM SERVER shop INTO public;
ALTER USER MAPPING FOR CURRENT_USER SERVER shop OPTIONS (ADD password 'secret');

-- who may do what with a table
SELECT gpujoin.mirror('item');
SELECT gpujoin.unmirror('item');
SELECT * FROM gpujoin.check_mirror('item');
SELECT * FROM gpujoin.mirrors;
SELECT * FROM gpujoin.mirror_progress;
SELECT * FROM gpujoin.daemon_mirrors();
RESET ROLE;
GRANT pg_monitor TO regress_gpujoin_owner;
SET ROLE regress_gpujoin_owner;
SELECT count(*) FROM gpujoin.mirrors;
SELECT count(*) FROM gpujoin.mirror_progress;
RESET ROLE;
SELECT gpujoin.mirror('pg_class');
SELECT gpujoin.unmirror('pg_class');
SELECT * FROM gpujoin.check_mirror('pg_class');
CREATE TABLE parts (id int) PARTITION BY LIST (id);
SELECT gpujoin.mirror('parts');
SELECT gpujoin.mirror(NULL) IS NULL AS strict;
DROP TABLE parts;

-- no user mapping; the message differs between versions
\set VERBOSITY sqlstate
SELECT * FROM item;
SELECT gpujoin.mirror('item');
\set VERBOSITY default
EXPLAIN (COSTS off) SELECT * FROM item;

-- read only
INSERT INTO item VALUES (1, 'a');
UPDATE item SET name = 'a';
DELETE FROM item;
TRUNCATE item;
COPY item FROM stdin;
\.

-- no daemon
CREATE USER MAPPING FOR CURRENT_USER SERVER shop OPTIONS (user 'replica');
SET gpujoin.socket = '/nonexistent/socket';
SELECT * FROM item;
EXPLAIN (COSTS off) SELECT * FROM item;
SELECT gpujoin.mirror('item');
SELECT gpujoin.unmirror('item');
SELECT * FROM gpujoin.check_mirror('item');
SELECT * FROM gpujoin.mirrors;
SELECT * FROM gpujoin.mirror_progress;
SELECT * FROM gpujoin.daemon_mirrors();
IMPORT FOREIGN SCHEMA public FROM SERVER shop INTO public;
IMPORT FOREIGN SCHEMA public FROM SERVER shop INTO public OPTIONS (import_default 'true');
ANALYZE item;
ALTER SERVER shop OPTIONS (SET port '5433');
RESET gpujoin.socket;

-- the daemon refuses what it cannot connect with
ALTER SERVER shop OPTIONS (SET host '/nonexistent', DROP sslrootcert, DROP sslmode);
SELECT state <> 'ready' AS mirror FROM gpujoin.mirror('item', wait => false);
SELECT gpujoin.unmirror('item');
ALTER SERVER shop OPTIONS (DROP dbname);
SELECT gpujoin.mirror('item');
SELECT * FROM gpujoin.mirrors;

-- how old rows may be
SET gpujoin.freshness = 'latest';
SET gpujoin.freshness = '5s';
SET gpujoin.freshness = 'new';
SET gpujoin.freshness = '-1';
RESET gpujoin.freshness;

-- the end
DROP USER MAPPING FOR regress_gpujoin_reader SERVER shop;
DROP SERVER shop;
SET client_min_messages = warning;
DROP SERVER shop CASCADE;
CREATE SERVER shop FOREIGN DATA WRAPPER gpujoin_fdw;
DROP EXTENSION gpujoin;
DROP EXTENSION gpujoin CASCADE;
RESET client_min_messages;
SELECT count(*) FROM pg_foreign_server;
DROP OWNED BY regress_gpujoin_owner;
\c :home
DROP DATABASE regress_gpujoin_objects;
DROP ROLE regress_gpujoin_owner;
DROP ROLE regress_gpujoin_reader;
