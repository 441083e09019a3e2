-- The objects of the extension. fdw/Makefile makes two scripts of this file: one for CREATE
-- EXTENSION, and, behind update-0.1.sql, one for ALTER EXTENSION ... UPDATE from version 0.1.

-- Asks the daemon at gpujoin.socket. status is its answer; if there is none,
-- failure is the reason.
CREATE FUNCTION daemon_status(OUT failure text, OUT status pg_catalog.jsonb)
RETURNS record
AS 'MODULE_PATHNAME', 'gpujoin_daemon_status'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION daemon_status() IS
    'status report of gpujoind, or the reason why there is none';

-- The same as a row. daemon is 'running', 'stopping', or the reason why there
-- is no status; all other columns are NULL in that case. Sizes are in bytes.
-- docs/views.md describes the columns.
CREATE FUNCTION status(
    OUT daemon text, OUT version text, OUT pid integer, OUT uptime interval,
    OUT providers text[], OUT rates text, OUT budget bigint, OUT reserved bigint, OUT used bigint,
    OUT pool bigint, OUT pool_free bigint, OUT spooled bigint, OUT jobs integer, OUT queued integer,
    OUT admitted bigint, OUT finished bigint, OUT cancelled bigint, OUT failed bigint,
    OUT refused bigint, OUT fallbacks bigint, OUT reasons pg_catalog.jsonb)
RETURNS record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT CASE
             WHEN d.failure IS NOT NULL THEN d.failure
             WHEN (d.status ->> 'stopping')::boolean THEN 'stopping'
             ELSE 'running'
           END,
           d.status ->> 'version',
           (d.status ->> 'pid')::integer,
           pg_catalog.make_interval(secs => (d.status ->> 'uptime_s')::double precision),
           (SELECT pg_catalog.array_agg(name)
            FROM pg_catalog.jsonb_array_elements_text(d.status -> 'providers') AS name),
           d.status ->> 'rates',
           (d.status ->> 'budget')::bigint,
           (d.status ->> 'reserved')::bigint,
           (d.status ->> 'used')::bigint,
           (d.status #>> '{pool,extents}')::bigint * (d.status #>> '{pool,extent_size}')::bigint,
           (d.status #>> '{pool,free}')::bigint * (d.status #>> '{pool,extent_size}')::bigint,
           (d.status ->> 'spooled')::bigint,
           pg_catalog.jsonb_array_length(d.status -> 'jobs'),
           (d.status ->> 'queued')::integer,
           (d.status #>> '{since_reset,totals,admitted}')::bigint,
           (d.status #>> '{since_reset,totals,finished}')::bigint,
           (d.status #>> '{since_reset,totals,cancelled}')::bigint,
           (d.status #>> '{since_reset,totals,failed}')::bigint,
           (d.status #>> '{since_reset,totals,refused}')::bigint,
           (d.status #>> '{since_reset,totals,fallbacks}')::bigint,
           d.status #> '{since_reset,totals,reasons}'
    FROM daemon_status() AS d;
END;

COMMENT ON FUNCTION status() IS 'state, memory and jobs of gpujoind';

-- The jobs that the daemon has admitted. role and database are NULL for jobs of
-- another cluster. The view is empty if the daemon does not answer. docs/views.md
-- describes the columns.
CREATE VIEW jobs(
    job, role, database, pid, state, reserved, age, unread, spooled) AS
    SELECT j.id, r.rolname, b.datname, j.pid, j.state, j.reserved,
           pg_catalog.make_interval(secs => j.age_s),
           pg_catalog.make_interval(secs => j.unread_s),
           j.spooled
    FROM daemon_status() AS s
         CROSS JOIN pg_catalog.pg_control_system() AS c
         CROSS JOIN pg_catalog.jsonb_to_recordset(s.status -> 'jobs') AS j(
             id bigint, state text, pid integer, system_identifier numeric,
             database oid, role oid, reserved bigint, spooled bigint,
             age_s double precision, unread_s double precision)
         LEFT JOIN pg_catalog.pg_roles AS r
             ON r.oid OPERATOR(pg_catalog.=) j.role
             AND j.system_identifier OPERATOR(pg_catalog.=) c.system_identifier::numeric
         LEFT JOIN pg_catalog.pg_database AS b
             ON b.oid OPERATOR(pg_catalog.=) j.database
             AND j.system_identifier OPERATOR(pg_catalog.=) c.system_identifier::numeric;

COMMENT ON VIEW jobs IS 'jobs of gpujoind, their memory, and how long they have had it';

-- The devices on which joins may run. The view is empty if the daemon does not
-- answer. docs/views.md describes the columns.
CREATE VIEW devices AS
    SELECT d.*
    FROM daemon_status() AS s,
         pg_catalog.jsonb_to_recordset(s.status -> 'devices') AS d(
             provider text, device integer, name text, state text, reason text,
             memory bigint, budget bigint, used bigint, kept bigint,
             jobs integer, queued integer, restarts integer, strategies pg_catalog.jsonb);

COMMENT ON VIEW devices IS 'devices on which gpujoind can run joins, and their states';

-- How these devices are connected with each other and with the host, whose number
-- is NULL. The view is empty if the daemon does not answer or has one device.
-- docs/views.md describes the columns.
CREATE VIEW links AS
    SELECT l.*
    FROM daemon_status() AS s,
         pg_catalog.jsonb_to_recordset(s.status -> 'links') AS l(
             provider text, source integer, target integer, kind text,
             gbps double precision, latency_us double precision, note text);

COMMENT ON VIEW links IS 'links between the devices on which gpujoind can run joins';

-- The daemon's memory as a tree: each row includes the rows whose paths begin with
-- its own. The view is empty if the daemon does not answer. docs/views.md
-- describes the columns.
CREATE VIEW memory AS
    SELECT m.*
    FROM daemon_status() AS s,
         pg_catalog.jsonb_to_recordset(s.status -> 'memory') AS m(
             path text, used bigint, peak bigint, "limit" bigint);

COMMENT ON VIEW memory IS 'memory of gpujoind, by what uses it';

-- What the daemon keeps between joins, of this cluster and this database: a row for each
-- table's file. The view is empty if the daemon does not answer. docs/views.md
-- describes the columns.
CREATE VIEW kept(
    relid, relation, columns, rows, bytes, device_bytes, fraction, uses, last_use, superseded, last_kept, last_proved, last_fed, reason) AS
    SELECT f.relid, coalesce(f.relid::pg_catalog.regclass::text, t.name), c.columns, c.rows, t.bytes,
           t.device_bytes, c.fraction, t.uses, pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => t.idle_s),
           t.superseded, t.last_kept, t.last_proved, t.last_fed, nullif(t.reason, '')
    FROM daemon_status() AS s
         CROSS JOIN pg_catalog.pg_control_system() AS p
         CROSS JOIN pg_catalog.jsonb_to_recordset(s.status #> '{kept,tables}') AS t(
             system_identifier numeric, database oid, tablespace oid, file oid, name text, bytes bigint, device_bytes bigint,
             uses double precision, idle_s double precision, superseded boolean, columns pg_catalog.jsonb,
             last_kept bigint, last_proved bigint, last_fed bigint, reason text)
         CROSS JOIN LATERAL (SELECT pg_catalog.pg_filenode_relation(t.tablespace, t.file)::oid) AS f(relid)
         CROSS JOIN LATERAL (
             SELECT pg_catalog.array_agg(DISTINCT coalesce(a.attname::text, k.attnum::text)), pg_catalog.max(k.rows),
                    pg_catalog.min(k.fraction)
             FROM pg_catalog.jsonb_to_recordset(t.columns) AS k(attnum smallint, rows bigint, fraction double precision)
                  LEFT JOIN pg_catalog.pg_attribute AS a
                  ON a.attrelid OPERATOR(pg_catalog.=) f.relid AND a.attnum OPERATOR(pg_catalog.=) k.attnum) AS c(
             columns, rows, fraction)
    WHERE t.system_identifier OPERATOR(pg_catalog.=) p.system_identifier::numeric
          AND t.database OPERATOR(pg_catalog.=)
              (SELECT oid FROM pg_catalog.pg_database WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database());

COMMENT ON VIEW kept IS 'columns of tables that gpujoind keeps between joins';

-- The jobs of this cluster whose tables are captured now, and what was captured and is
-- copied. The view is empty if the daemon does not answer. docs/views.md
-- describes the columns.
CREATE VIEW keep_progress(
    job, pid, database, relation, phase, blocks_total, blocks_done) AS
    SELECT t.job, t.pid, b.datname,
           CASE WHEN b.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
                THEN coalesce(pg_catalog.pg_filenode_relation(t.tablespace, t.file)::text, t.name)
                ELSE t.name END,
           t.phase, t.blocks_total, t.blocks_done
    FROM daemon_status() AS s
         CROSS JOIN pg_catalog.pg_control_system() AS p
         CROSS JOIN pg_catalog.jsonb_to_recordset(s.status #> '{kept,progress}') AS t(
             job bigint, pid integer, system_identifier numeric, database oid, tablespace oid, file oid, name text,
             phase text, blocks_total bigint, blocks_done bigint)
         LEFT JOIN pg_catalog.pg_database AS b ON b.oid OPERATOR(pg_catalog.=) t.database
    WHERE t.system_identifier OPERATOR(pg_catalog.=) p.system_identifier::numeric;

COMMENT ON VIEW keep_progress IS 'tables whose columns gpujoind captures or copies now';

-- What became of the blocks of tables that the daemon keeps, in all joins of this session.
CREATE FUNCTION session_blocks(OUT kept bigint, OUT proved bigint, OUT fed bigint, OUT captured bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'gpujoin_session_blocks'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION session_blocks() IS
    'blocks of tables that gpujoind keeps, as the joins of this session got them';

-- Drops what the daemon keeps of a table and of its partitions. Returns the bytes.
CREATE FUNCTION forget(relation regclass) RETURNS bigint
AS 'MODULE_PATHNAME', 'gpujoin_forget'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION forget(regclass) IS 'drops the columns that gpujoind keeps of a table';

-- ---- gpujoin.keep() ----

-- The pages of a table, and those of them whose rows all transactions see.
CREATE FUNCTION pages_of(relation regclass, OUT blocks bigint, OUT visible bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'gpujoin_pages_of'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

-- Changes that are on disk can be kept.
CREATE FUNCTION flush_wal() RETURNS void
AS 'MODULE_PATHNAME', 'gpujoin_flush_wal'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE FUNCTION can_feed(type oid, typmod integer) RETURNS boolean
AS 'MODULE_PATHNAME', 'gpujoin_can_feed'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

-- What the daemon keeps of a table. Everybody may know that, like the number of rows in
-- pg_class. capturing: this session's captures have not been copied yet; progress changes
-- while they are.
CREATE FUNCTION kept_of(relation regclass, OUT failure text, OUT bytes_limit bigint, OUT bytes bigint,
                        OUT reason text, OUT columns pg_catalog.jsonb, OUT capturing boolean, OUT progress bigint)
RETURNS record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT s.failure, (s.status #>> '{kept,limit}')::bigint, (t.t ->> 'bytes')::bigint, nullif(t.t ->> 'reason', ''),
           coalesce(t.t -> 'columns', '[]'), p.n > 0, p.done
    FROM daemon_status() AS s
         CROSS JOIN pg_catalog.pg_control_system() AS c
         JOIN pg_catalog.pg_class AS r ON r.oid OPERATOR(pg_catalog.=) relation
         JOIN pg_catalog.pg_database AS b ON b.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
         LEFT JOIN LATERAL pg_catalog.jsonb_array_elements(s.status #> '{kept,tables}') AS t(t)
             ON (t.t ->> 'system_identifier')::numeric OPERATOR(pg_catalog.=) c.system_identifier::numeric
             AND (t.t ->> 'database')::oid OPERATOR(pg_catalog.=) b.oid
             AND (t.t ->> 'tablespace')::oid OPERATOR(pg_catalog.=) coalesce(nullif(r.reltablespace, 0::oid), b.dattablespace)
             AND (t.t ->> 'file')::oid OPERATOR(pg_catalog.=) pg_catalog.pg_relation_filenode(r.oid)
         CROSS JOIN LATERAL (
             SELECT pg_catalog.count(*), pg_catalog.sum((p ->> 'blocks_done')::bigint)::bigint
             FROM pg_catalog.jsonb_array_elements(s.status #> '{kept,progress}') AS p
             WHERE (p ->> 'pid')::integer OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()
                   AND (p ->> 'system_identifier')::numeric OPERATOR(pg_catalog.=) c.system_identifier::numeric) AS p(n, done);
END;

-- The tables that have rows of their own among a table, its partitions and its children.
CREATE FUNCTION leaves_of(relation regclass) RETURNS SETOF regclass
LANGUAGE SQL STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE tree AS (
        SELECT relation::oid AS oid
        UNION
        SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN tree AS t ON t.oid OPERATOR(pg_catalog.=) i.inhparent)
    SELECT c.oid::regclass
    FROM tree AS t JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) t.oid
    WHERE c.relkind OPERATOR(pg_catalog.<>) 'p'
    ORDER BY c.oid OPERATOR(pg_catalog.<>) relation::oid, c.oid::regclass::text COLLATE "C";
END;

-- Why nothing of a table can be kept, NULL if something can. What changes from one
-- execution to the next is in fdw/feed/kept/gates.c.
CREATE FUNCTION why_not_kept(relation regclass) RETURNS text
LANGUAGE SQL VOLATILE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
             WHEN c.relkind OPERATOR(pg_catalog.=) 'f' THEN 'it is a foreign table'
             WHEN c.relkind NOT IN ('r', 'm') THEN 'it is not a table'
             WHEN c.relpersistence OPERATOR(pg_catalog.<>) 'p' THEN 'it is not logged'
             WHEN c.relnamespace IN ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace) THEN 'it is a system catalog'
             WHEN m.amname OPERATOR(pg_catalog.<>) 'heap' THEN pg_catalog.format('its access method is %s', m.amname)
             WHEN pg_catalog.pg_is_in_recovery() THEN 'the server is a standby'
             WHEN coalesce(pg_catalog.current_setting('old_snapshot_threshold', true), '-1') OPERATOR(pg_catalog.<>) '-1'
                 THEN 'old_snapshot_threshold is set'
             WHEN pg_catalog.row_security_active(c.oid) THEN 'row-level security filters its rows for you'
             WHEN p.blocks OPERATOR(pg_catalog.>) 32672000 THEN 'it is larger than 249 GB'
             WHEN p.blocks OPERATOR(pg_catalog.=) 0 THEN 'it is empty'
             WHEN p.visible OPERATOR(pg_catalog.=) 0 THEN '0 % of the pages are all-visible; run VACUUM'
           END
    FROM pg_catalog.pg_class AS c
         LEFT JOIN pg_catalog.pg_am AS m ON m.oid OPERATOR(pg_catalog.=) c.relam,
         pages_of(relation) AS p
    WHERE c.oid OPERATOR(pg_catalog.=) relation::oid;
END;

-- Columns of a table that can be fed, in their order. It is an error if one of those that
-- are asked for does not exist or cannot be fed.
CREATE FUNCTION feedable_columns(relation regclass, wanted text[]) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found text[];
    name text;
BEGIN
    SELECT array_agg(attname::text ORDER BY attnum) INTO found
    FROM pg_attribute
    WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped AND attgenerated <> 'v'
          AND gpujoin.can_feed(atttypid, atttypmod) AND (wanted IS NULL OR attname = ANY (wanted));
    FOREACH name IN ARRAY coalesce(wanted, '{}') LOOP
        CONTINUE WHEN name = ANY (found);
        IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped AND attname = name) THEN
            RAISE feature_not_supported USING
                MESSAGE = format('gpujoind cannot keep column %I of table %s', name, relation),
                DETAIL = (SELECT format('Columns of type %s are not fed to gpujoind.', format_type(atttypid, atttypmod))
                          FROM pg_attribute WHERE attrelid = relation AND attname = name);
        END IF;
        RAISE undefined_column USING MESSAGE = format('column %I of table %s does not exist', name, relation);
    END LOOP;
    RETURN coalesce(found, '{}');
END $$;

-- Feeds columns of one table to the daemon, which captures them. Returns why it did not.
-- num_nulls() reads columns of any type. From 19 on, the planner knows the result of
-- IS NULL, count() and their like for a column that is NOT NULL, and reads nothing.
CREATE FUNCTION feed_columns(relation regclass, columns text[]) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET gpujoin.enabled = on
SET gpujoin.debug_force = on
SET gpujoin.min_rows = 0
SET enable_seqscan = on
SET enable_indexscan = off
SET enable_indexonlyscan = off
SET enable_bitmapscan = off
SET gpujoin.enable_aggregates = on
SET gpujoin.verify = off
SET gpujoin.explain_rejected = off
SET gpujoin.keep = always
AS $$
DECLARE
    -- so many columns that a row of the daemon's batch stays small
    most CONSTANT int := 100;
    plan jsonb;
BEGIN
    PERFORM gpujoin.flush_wal();
    FOR i IN 1 .. cardinality(columns) BY most LOOP
        EXECUTE (
            SELECT format('EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, FORMAT json) SELECT count(*) FILTER (WHERE num_nulls(%s) > 0) FROM ONLY %I.%I',
                          (SELECT string_agg(quote_ident(name), ', ')
                           FROM unnest(columns[i : i + most - 1]) AS name),
                          n.nspname, c.relname)
            FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = relation)
        INTO plan;
        plan := jsonb_path_query_first(plan, 'strict $.**?(@."Node Type" == "Custom Scan")');
        IF plan IS NULL THEN
            RETURN 'the planner did not offload its scan';
        ELSIF plan ? 'Fallback' THEN
            RETURN plan ->> 'Fallback';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION sentence(reason text) RETURNS text
LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT pg_catalog.upper(pg_catalog.left(reason, 1)) || pg_catalog.substr(reason, 2) || '.';
END;

-- Waits until what this session has captured has been copied, or nothing happens any more.
CREATE FUNCTION wait_for_copies(relation regclass) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k record;
    progress bigint := -1;
    since timestamptz := clock_timestamp();
BEGIN
    LOOP
        SELECT * INTO k FROM gpujoin.kept_of(relation);
        EXIT WHEN k.failure IS NOT NULL OR NOT k.capturing;
        IF k.progress <> progress THEN
            progress := k.progress;
            since := clock_timestamp();
        ELSIF clock_timestamp() > since + interval '10 s' THEN
            RAISE WARNING 'gpujoind has not copied all columns of table % yet', relation
                USING HINT = 'See the view gpujoin.keep_progress.';
            EXIT;
        END IF;
        PERFORM pg_sleep(0.005);
    END LOOP;
END $$;

-- Keeps columns of a table, or all of them, from now on. Each partition and each child has a
-- row of its own, with the least number of rows and the least fraction of its pages that are
-- kept of any of these columns.
CREATE FUNCTION keep(relation regclass, columns text[] DEFAULT NULL)
RETURNS TABLE (leaf regclass, kept_columns text[], rows bigint, bytes bigint, fraction double precision)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wanted text[];
    reason text;
    k record;
    pages record;
BEGIN
    IF relation IS NULL THEN
        RETURN;
    END IF;
    SELECT * INTO k FROM gpujoin.kept_of(relation);
    IF k.failure IS NOT NULL THEN
        RAISE connection_failure USING MESSAGE = 'gpujoind cannot keep anything', DETAIL = gpujoin.sentence(k.failure);
    ELSIF k.bytes_limit = 0 THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'gpujoind cannot keep anything', DETAIL = 'Its option --keep-memory is 0.';
    END IF;
    FOR leaf IN SELECT * FROM gpujoin.leaves_of(relation) LOOP
        -- the root of a tree without rows of its own
        CONTINUE WHEN leaf = relation AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = relation)
                      AND (SELECT p.blocks = 0 FROM gpujoin.pages_of(leaf) AS p);
        wanted := gpujoin.feedable_columns(leaf, keep.columns);
        IF keep.columns IS NULL AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = leaf AND attnum > 0 AND NOT attisdropped
                                            AND attname <> ALL (wanted)) THEN
            RAISE NOTICE 'gpujoind does not keep all columns of table %', leaf
                USING DETAIL = (SELECT format('It cannot be fed %s.', string_agg(quote_ident(attname), ', ' ORDER BY attnum)) FROM pg_attribute
                                WHERE attrelid = leaf AND attnum > 0 AND NOT attisdropped AND attname <> ALL (wanted));
        END IF;
        reason := coalesce(gpujoin.why_not_kept(leaf), CASE WHEN cardinality(wanted) = 0 THEN 'no column can be fed' END,
                           gpujoin.feed_columns(leaf, wanted));
        IF reason IS NOT NULL THEN
            IF leaf = relation AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = relation) THEN
                RAISE object_not_in_prerequisite_state USING
                    MESSAGE = format('gpujoind cannot keep columns of table %s', leaf), DETAIL = gpujoin.sentence(reason);
            END IF;
            RAISE WARNING 'gpujoind cannot keep columns of table %', leaf USING DETAIL = gpujoin.sentence(reason);
        ELSE
            PERFORM gpujoin.wait_for_copies(leaf);
        END IF;
        SELECT * INTO k FROM gpujoin.kept_of(leaf);
        SELECT coalesce(array_agg(f.attname ORDER BY f.attnum), '{}'),
               CASE WHEN count(*) < cardinality(wanted) THEN 0 ELSE coalesce(min(f.rows), 0) END, coalesce(sum(f.bytes), 0),
               CASE WHEN count(*) < cardinality(wanted) THEN 0 ELSE coalesce(min(f.fraction), 0) END
        INTO kept_columns, rows, bytes, fraction
        FROM (SELECT a.attname::text, a.attnum, max(c.rows) AS rows, sum(c.bytes) AS bytes, max(c.fraction) AS fraction
              FROM jsonb_to_recordset(k.columns) AS c(attnum smallint, rows bigint, bytes bigint, fraction double precision)
                   JOIN pg_attribute AS a ON a.attrelid = leaf AND a.attnum = c.attnum
              WHERE a.attname = ANY (wanted) GROUP BY 1, 2) AS f;
        SELECT * INTO pages FROM gpujoin.pages_of(leaf);
        -- few pages that have changed are no reason to copy all that are near them (sidecar/kept/plan.go)
        IF reason IS NULL AND fraction < 63.0 / 64 * pages.visible / pages.blocks THEN
            RAISE WARNING 'gpujoind keeps columns of % %% of the pages of table %', floor(100 * fraction), leaf
                USING DETAIL = coalesce(gpujoin.sentence(k.reason), CASE WHEN fraction > 0 THEN 'Pages with very long values are not kept.' END);
        ELSIF reason IS NULL AND pages.visible < pages.blocks THEN
            RAISE NOTICE '% %% of the pages of table % are all-visible', floor(100.0 * pages.visible / pages.blocks), leaf
                USING HINT = 'The others are not kept. Run VACUUM.';
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;

COMMENT ON FUNCTION keep(regclass, text[]) IS 'lets gpujoind keep columns of a table from now on';

-- ---- gpujoin.check_kept() ----

-- The rows of a table, as text: those that the daemon keeps, or those of the table alone.
-- The join finds no partner. It is there because the daemon executes joins.
CREATE FUNCTION rows_to_check(relation regclass, columns text[], key text) RETURNS text
LANGUAGE SQL STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT pg_catalog.format('SELECT ROW(%s)::text COLLATE "C" AS x FROM ONLY %s AS t', l.list, q.name)
           || CASE WHEN key IS NULL THEN ''
                   ELSE pg_catalog.format(' LEFT JOIN (SELECT %1$I FROM ONLY %2$s LIMIT 0) AS n ON n.%1$I = t.%1$I', key, q.name) END
           || ' OFFSET 0'
    FROM (SELECT pg_catalog.string_agg(pg_catalog.format('t.%I', name), ', ') FROM pg_catalog.unnest(columns) AS name) AS l(list),
         (SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)
          FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
          WHERE c.oid OPERATOR(pg_catalog.=) relation::oid) AS q(name);
END;

CREATE FUNCTION rows_of_check(query text, offloaded boolean) RETURNS SETOF text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('gpujoin.enabled', offloaded::text, true);
    RETURN QUERY EXECUTE query;
END $$;

-- Are values of a type equal if the bytes are that the daemon gets of them? Such a column can be
-- the key of a join as it is kept (fdw/plan/join/keys.c).
CREATE FUNCTION is_plain_key(type oid) RETURNS boolean
LANGUAGE SQL STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT type OPERATOR(pg_catalog.=) ANY (
               '{int2,int4,int8,bool,"\"char\"",oid,xid,cid,xid8,money,pg_lsn,date,time,timestamp,timestamptz,timetz,uuid,macaddr,macaddr8,tid,inet,bit,varbit,bytea,text,varchar}'::pg_catalog.regtype[]::pg_catalog.oid[])
           OR EXISTS (SELECT FROM pg_catalog.pg_type AS t WHERE t.oid OPERATOR(pg_catalog.=) type AND t.typtype OPERATOR(pg_catalog.=) 'e');
END;

-- Compares the values that the daemon keeps of a table with those in the table, under one
-- snapshot. The function is STABLE, so all its queries have the snapshot of the query that
-- calls it. Two hashes of each row as text are added up. Only if the sums differ are all
-- rows compared. With gpujoin.keep = always, small tables are served, too. If no kept column
-- can be the key of the join that reads them, another column of the table is kept for that.
CREATE FUNCTION check_kept(relation regclass)
RETURNS TABLE (leaf regclass, compared_columns text[], rows bigint, kept_blocks bigint, blocks bigint, differences bigint)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET gpujoin.enabled = on
SET gpujoin.debug_force = on
SET gpujoin.min_rows = 0
SET enable_seqscan = on
SET enable_indexscan = off
SET enable_indexonlyscan = off
SET enable_bitmapscan = off
SET gpujoin.verify = off
SET gpujoin.explain_rejected = off
SET gpujoin.keep = always
SET extra_float_digits = 3
AS $$
DECLARE
    k record;
    before record;
    after record;
    kept record;
    heap record;
    key text;
    hashes CONSTANT text := 'SELECT count(*) AS rows, sum(hashtextextended(x, 0)) AS a, sum(hashtextextended(x, 1)) AS b FROM (%s) AS r';
    found_any boolean := false;
BEGIN
    FOR leaf IN SELECT * FROM gpujoin.leaves_of(relation) LOOP
        SELECT * INTO k FROM gpujoin.kept_of(leaf);
        IF k.failure IS NOT NULL THEN
            RAISE connection_failure USING MESSAGE = 'gpujoind does not answer', DETAIL = gpujoin.sentence(k.failure);
        END IF;
        -- Forms 0 and 1 are the values themselves (fdw/job/job.h), others are keys of joins. A key whose
        -- form is that of its value is wanted: a text last, because it may be too long.
        SELECT array_agg(DISTINCT a.attname::text),
               (array_agg(a.attname ORDER BY a.attlen < 0 AND c.form = 0, a.attnum)
                    FILTER (WHERE gpujoin.is_plain_key(a.atttypid) OR a.atttypid = 'numeric'::regtype AND c.form = 1))[1]
        INTO compared_columns, key
        FROM jsonb_to_recordset(k.columns) AS c(attnum smallint, form int)
             JOIN pg_attribute AS a ON a.attrelid = leaf AND a.attnum = c.attnum AND NOT a.attisdropped
        WHERE c.form <= 1;
        CONTINUE WHEN compared_columns IS NULL;
        IF key IS NULL THEN
            SELECT attname INTO key
            FROM pg_attribute
            WHERE attrelid = leaf AND attnum > 0 AND NOT attisdropped AND attgenerated <> 'v' AND gpujoin.is_plain_key(atttypid)
                  AND gpujoin.can_feed(atttypid, atttypmod) AND has_column_privilege(leaf, attnum, 'SELECT')
            ORDER BY attlen < 0, attnum LIMIT 1;
            IF key IS NULL THEN
                RAISE feature_not_supported USING MESSAGE = format('kept columns of table %s cannot be checked', leaf),
                    DETAIL = 'No column of the table that you may read can be the key of a join.';
            END IF;
            PERFORM gpujoin.feed_columns(leaf, ARRAY[key]);
            PERFORM gpujoin.wait_for_copies(leaf);
        END IF;
        SELECT * INTO before FROM gpujoin.session_blocks();
        PERFORM set_config('gpujoin.enabled', 'on', true);
        EXECUTE format(hashes, gpujoin.rows_to_check(leaf, compared_columns, key)) INTO kept;
        SELECT * INTO after FROM gpujoin.session_blocks();
        kept_blocks := after.kept + after.proved - before.kept - before.proved;
        CONTINUE WHEN kept_blocks = 0;
        blocks := kept_blocks + after.fed - before.fed;
        PERFORM set_config('gpujoin.enabled', 'off', true);
        EXECUTE format(hashes, gpujoin.rows_to_check(leaf, compared_columns, NULL)) INTO heap;
        rows := heap.rows;
        differences := 0;
        IF kept IS DISTINCT FROM heap THEN
            SELECT sum(abs(d.n)) INTO differences
            FROM (SELECT sum(u.side) AS n
                  FROM (SELECT x, 1 AS side FROM gpujoin.rows_of_check(gpujoin.rows_to_check(leaf, compared_columns, key), true) AS x
                        UNION ALL
                        SELECT x, -1 FROM gpujoin.rows_of_check(gpujoin.rows_to_check(leaf, compared_columns, NULL), false) AS x) AS u
                  GROUP BY u.x COLLATE "C") AS d;
            differences := greatest(differences, 1);
        END IF;
        found_any := true;
        RETURN NEXT;
    END LOOP;
    IF NOT found_any THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('gpujoind keeps nothing of table %s that a query could use now', relation),
            HINT = format('Run "SELECT * FROM gpujoin.keep(%L)".', relation);
    END IF;
END $$;

COMMENT ON FUNCTION check_kept(regclass) IS 'compares what gpujoind keeps of a table with the table';

-- ---- tables of other PostgreSQL servers ----

CREATE FUNCTION gpujoin_fdw_handler() RETURNS fdw_handler
AS 'MODULE_PATHNAME', 'gpujoin_fdw_handler'
LANGUAGE C STRICT;

CREATE FUNCTION gpujoin_fdw_validator(options text[], catalog oid) RETURNS void
AS 'MODULE_PATHNAME', 'gpujoin_fdw_validator'
LANGUAGE C STRICT;

-- docs/settings.md describes the options of servers, user mappings and tables.
CREATE FOREIGN DATA WRAPPER gpujoin_fdw HANDLER gpujoin_fdw_handler VALIDATOR gpujoin_fdw_validator;

COMMENT ON FOREIGN DATA WRAPPER gpujoin_fdw IS 'tables of other PostgreSQL servers, which gpujoind mirrors as columns';

-- Begins to mirror a foreign table for the mapping of the current user, and waits until
-- that is done if it is told so. It is what the first query does, too.
CREATE FUNCTION mirror(relation regclass, wait boolean DEFAULT false,
                       OUT state text, OUT rows bigint, OUT reason text)
RETURNS record
AS 'MODULE_PATHNAME', 'gpujoin_mirror'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION mirror(regclass, boolean) IS 'lets gpujoind mirror a foreign table from now on';

CREATE FUNCTION unmirror(relation regclass) RETURNS void
AS 'MODULE_PATHNAME', 'gpujoin_unmirror'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION unmirror(regclass) IS 'drops the mirror that gpujoind has of a foreign table';

-- missing: rows of the source that the mirror does not have, extra: rows of the mirror that
-- the source does not have, both at the position.
CREATE FUNCTION check_mirror(relation regclass,
                             OUT rows bigint, OUT missing bigint, OUT extra bigint, OUT "position" pg_lsn)
RETURNS record
AS 'MODULE_PATHNAME', 'gpujoin_check_mirror'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION check_mirror(regclass) IS 'compares the mirror of a foreign table with the source';

-- The mirrors of this database. If there is no answer, failure is the reason.
CREATE FUNCTION daemon_mirrors(OUT failure text, OUT mirrors pg_catalog.jsonb)
RETURNS record
AS 'MODULE_PATHNAME', 'gpujoin_daemon_mirrors'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION daemon_mirrors() IS 'mirrors that gpujoind has of foreign tables, or the reason why that is not known';

-- A row for each mirrored table of a source and each user mapping. The view is empty if the
-- daemon does not answer. docs/views.md describes the columns.
CREATE VIEW mirrors(
    server, "user", schema, "table", relations, state, reason, hint, rows, dead_rows, bytes, device_bytes, position, lag_bytes, lag,
    retained_wal, since) AS
    SELECT s.srvname, u.usename, m.schema, m."table", r.relations, m.state, nullif(m.reason, ''), nullif(m.hint, ''), m.rows, m.dead_rows,
           m.bytes, m.device_bytes, nullif(m.position, '')::pg_catalog.pg_lsn, m.lag_bytes,
           pg_catalog.make_interval(secs => m.lag_us OPERATOR(pg_catalog./) 1e6), m.retained_wal,
           nullif(m.since, '')::timestamptz
    FROM daemon_mirrors() AS d
         CROSS JOIN pg_catalog.jsonb_to_recordset(d.mirrors) AS m(
             server oid, mapping oid, schema text, "table" text, state text, reason text, hint text, rows bigint, dead_rows bigint,
             bytes bigint, device_bytes bigint, position text, lag_bytes bigint, lag_us bigint, retained_wal bigint, since text)
         LEFT JOIN pg_catalog.pg_foreign_server AS s ON s.oid OPERATOR(pg_catalog.=) m.server
         LEFT JOIN pg_catalog.pg_user_mappings AS u ON u.umid OPERATOR(pg_catalog.=) m.mapping
         CROSS JOIN LATERAL (
             SELECT pg_catalog.array_agg(c.oid::pg_catalog.regclass ORDER BY c.oid)
             FROM pg_catalog.pg_foreign_table AS f
                  JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) f.ftrelid
                  JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
                  CROSS JOIN LATERAL (
                      SELECT pg_catalog.max(o.option_value) FILTER (WHERE o.option_name OPERATOR(pg_catalog.=) 'schema_name'),
                             pg_catalog.max(o.option_value) FILTER (WHERE o.option_name OPERATOR(pg_catalog.=) 'table_name')
                      FROM pg_catalog.pg_options_to_table(f.ftoptions) AS o) AS o(schema, "table")
             WHERE f.ftserver OPERATOR(pg_catalog.=) m.server
                   AND coalesce(o.schema, n.nspname::text) OPERATOR(pg_catalog.=) m.schema
                   AND coalesce(o."table", c.relname::text) OPERATOR(pg_catalog.=) m."table") AS r(relations);

COMMENT ON VIEW mirrors IS 'tables of foreign servers that gpujoind mirrors';

-- The mirrors that are loaded now. rows_total is what the source expects, NULL if it does not know.
CREATE VIEW mirror_progress(
    server, "user", schema, "table", state, rows_total, rows_done, since) AS
    SELECT s.srvname, u.usename, m.schema, m."table", m.state, nullif(m.load_total_rows, -1), m.loaded_rows,
           nullif(m.since, '')::timestamptz
    FROM daemon_mirrors() AS d
         CROSS JOIN pg_catalog.jsonb_to_recordset(d.mirrors) AS m(
             server oid, mapping oid, schema text, "table" text, state text, loaded_rows bigint, load_total_rows bigint, since text)
         LEFT JOIN pg_catalog.pg_foreign_server AS s ON s.oid OPERATOR(pg_catalog.=) m.server
         LEFT JOIN pg_catalog.pg_user_mappings AS u ON u.umid OPERATOR(pg_catalog.=) m.mapping
    WHERE m.state OPERATOR(pg_catalog.<>) ALL (ARRAY['ready', 'behind', 'failed']);

COMMENT ON VIEW mirror_progress IS 'tables of foreign servers that gpujoind loads now';

-- The statistics views below are for everybody, as PostgreSQL's own are: a role sees its
-- own jobs and queries, and members of pg_read_all_stats see all. docs/views.md
-- describes the columns.

-- What the caller may see of the daemon's status: the row failure, if there is none; else
-- a row for each public member of the status, and one for each job.
CREATE FUNCTION stat_report(OUT member text, OUT item pg_catalog.jsonb)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpujoin_stat_report'
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 30;

COMMENT ON FUNCTION stat_report() IS 'what the caller may see of the status of gpujoind';

CREATE VIEW stat_daemon(
    state, version, pid, providers, rates, budget, reserved, used, spooled, queued, sessions,
    admitted, finished, cancelled, failed, refused, fallbacks, reasons,
    queue_ms, feed_ms, join_ms, return_ms, resident, goroutines, open_files, stats_reset) AS
    SELECT CASE
             WHEN r.s OPERATOR(pg_catalog.?) 'failure' THEN r.s ->> 'failure'
             WHEN (r.s ->> 'stopping')::boolean THEN 'stopping'
             ELSE 'running'
           END,
           r.s ->> 'version', (r.s ->> 'pid')::integer,
           (SELECT pg_catalog.array_agg(name)
            FROM pg_catalog.jsonb_array_elements_text(r.s -> 'providers') AS name),
           r.s ->> 'rates',
           (r.s ->> 'budget')::bigint, (r.s ->> 'reserved')::bigint, (r.s ->> 'used')::bigint,
           (r.s ->> 'spooled')::bigint, (r.s ->> 'queued')::integer, (r.s ->> 'sessions')::integer,
           (r.s #>> '{since_reset,totals,admitted}')::bigint, (r.s #>> '{since_reset,totals,finished}')::bigint,
           (r.s #>> '{since_reset,totals,cancelled}')::bigint, (r.s #>> '{since_reset,totals,failed}')::bigint,
           (r.s #>> '{since_reset,totals,refused}')::bigint, (r.s #>> '{since_reset,totals,fallbacks}')::bigint,
           r.s #> '{since_reset,totals,reasons}',
           (r.s #>> '{since_reset,phase_s,queue}')::double precision OPERATOR(pg_catalog.*) 1000,
           (r.s #>> '{since_reset,phase_s,feed}')::double precision OPERATOR(pg_catalog.*) 1000,
           (r.s #>> '{since_reset,phase_s,join}')::double precision OPERATOR(pg_catalog.*) 1000,
           (r.s #>> '{since_reset,phase_s,return}')::double precision OPERATOR(pg_catalog.*) 1000,
           (r.s #>> '{process,resident_bytes}')::bigint, (r.s #>> '{process,goroutines}')::integer,
           (r.s #>> '{process,open_files}')::integer,
           pg_catalog.to_timestamp((r.s #>> '{since_reset,since_s}')::double precision)
    FROM (SELECT pg_catalog.jsonb_object_agg(member, item) FROM stat_report()
          WHERE member OPERATOR(pg_catalog.!~~) 'job%') AS r(s);

COMMENT ON VIEW stat_daemon IS 'state, memory and counters of gpujoind, since its start or the last reset';

-- Returns the new stats_reset. The counters of metrics and of daemon_status() go on.
CREATE FUNCTION stat_daemon_reset() RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'gpujoin_stat_daemon_reset'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION stat_daemon_reset() IS 'lets the counters of stat_daemon and status() begin anew';

REVOKE ALL ON FUNCTION stat_daemon_reset() FROM PUBLIC;

CREATE VIEW stat_jobs(
    job, pid, datid, datname, usesysid, usename, queryid, phase, waits_for, rows, bytes, result_rows, result_bytes,
    reserved, used, spooled, age, unread) AS
    SELECT nullif(j.id, 0), j.pid, b.oid, b.datname, u.oid, u.rolname, a.query_id,
           CASE j.state WHEN 'queued' THEN 'queue' WHEN 'feeding' THEN 'feed' WHEN 'running' THEN 'join' ELSE 'return' END,
           j.waits_for, j.rows, j.bytes, j.rows_out, j.bytes_out, j.reserved, j.used, j.spooled,
           pg_catalog.make_interval(secs => j.age_s), pg_catalog.make_interval(secs => j.unread_s)
    FROM stat_report() AS r
         CROSS JOIN pg_catalog.jsonb_to_record(r.item) AS j(
             id bigint, pid integer, database oid, role oid, state text, waits_for text, rows bigint, bytes bigint,
             rows_out bigint, bytes_out bigint, reserved bigint, used bigint, spooled bigint,
             age_s double precision, unread_s double precision)
         LEFT JOIN pg_catalog.pg_database AS b
             ON b.oid OPERATOR(pg_catalog.=) j.database AND r.member OPERATOR(pg_catalog.=) 'job'
         LEFT JOIN pg_catalog.pg_roles AS u
             ON u.oid OPERATOR(pg_catalog.=) j.role AND r.member OPERATOR(pg_catalog.=) 'job'
         LEFT JOIN pg_catalog.pg_stat_activity AS a
             ON a.pid OPERATOR(pg_catalog.=) j.pid AND r.member OPERATOR(pg_catalog.=) 'job'
    WHERE r.member OPERATOR(pg_catalog.~~) 'job%';

COMMENT ON VIEW stat_jobs IS 'jobs of gpujoind: whose they are, in which phase, and what they wait for';

CREATE VIEW stat_progress_job(
    pid, datid, datname, job, phase, rows_total, rows_done, bytes_done, result_rows_total, result_rows_done) AS
    SELECT j.pid, b.oid, b.datname, nullif(j.id, 0),
           CASE j.state WHEN 'queued' THEN 'queue' WHEN 'feeding' THEN 'feed' WHEN 'running' THEN 'join' ELSE 'return' END,
           j.rows_expected::bigint, j.rows, j.bytes, j.rows_out_expected::bigint, j.rows_out
    FROM stat_report() AS r
         CROSS JOIN pg_catalog.jsonb_to_record(r.item) AS j(
             id bigint, pid integer, database oid, state text, rows bigint, bytes bigint, rows_out bigint,
             rows_expected double precision, rows_out_expected double precision)
         LEFT JOIN pg_catalog.pg_database AS b
             ON b.oid OPERATOR(pg_catalog.=) j.database AND r.member OPERATOR(pg_catalog.=) 'job'
    WHERE r.member OPERATOR(pg_catalog.~~) 'job%';

COMMENT ON VIEW stat_progress_job IS 'how far the jobs of gpujoind have come, and what the planner expects';

CREATE VIEW stat_devices AS
    SELECT d.*
    FROM stat_report() AS r,
         pg_catalog.jsonb_to_recordset(r.item) AS d(
             provider text, device integer, name text, state text, reason text,
             memory bigint, budget bigint, used bigint, resident bigint, kept bigint,
             jobs integer, queued integer, restarts integer, strategies pg_catalog.jsonb)
    WHERE r.member OPERATOR(pg_catalog.=) 'devices';

COMMENT ON VIEW stat_devices IS 'devices on which gpujoind can run joins, their memory and what runs on them';

-- Of each role, database and query that was planned with jobs, what became of them. The
-- library must be in shared_preload_libraries.
CREATE FUNCTION stat_statements(
    OUT userid oid, OUT dbid oid, OUT queryid bigint, OUT calls bigint, OUT offloaded bigint, OUT jobs bigint,
    OUT feed_ms double precision, OUT join_ms double precision, OUT return_ms double precision,
    OUT expected_native_ms double precision, OUT fallbacks bigint, OUT reasons pg_catalog.jsonb,
    OUT stats_since timestamp with time zone)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpujoin_stat_statements'
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 1000;

COMMENT ON FUNCTION stat_statements() IS 'what became of the jobs of each query';

CREATE VIEW stat_statements AS SELECT * FROM stat_statements();

COMMENT ON VIEW stat_statements IS 'what became of the jobs of each query';

CREATE FUNCTION stat_statements_info(OUT dealloc bigint, OUT stats_reset timestamp with time zone)
RETURNS record
AS 'MODULE_PATHNAME', 'gpujoin_stat_statements_info'
LANGUAGE C VOLATILE PARALLEL SAFE;

COMMENT ON FUNCTION stat_statements_info() IS 'how many queries were dropped from stat_statements, and since when';

CREATE VIEW stat_statements_info AS SELECT * FROM stat_statements_info();

COMMENT ON VIEW stat_statements_info IS 'how many queries were dropped from stat_statements, and since when';

CREATE FUNCTION stat_statements_reset() RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'gpujoin_stat_statements_reset'
LANGUAGE C VOLATILE PARALLEL SAFE;

COMMENT ON FUNCTION stat_statements_reset() IS 'empties stat_statements';

REVOKE ALL ON FUNCTION stat_statements_reset() FROM PUBLIC;
GRANT SELECT ON stat_daemon, stat_jobs, stat_progress_job, stat_devices, stat_statements, stat_statements_info TO PUBLIC;

REVOKE ALL ON FUNCTION daemon_status(), status(), daemon_mirrors() FROM PUBLIC;
REVOKE ALL ON jobs, devices, links, memory, kept, keep_progress, mirrors, mirror_progress FROM PUBLIC;
GRANT USAGE ON SCHEMA gpujoin TO PUBLIC;
GRANT EXECUTE ON FUNCTION daemon_status(), status(), daemon_mirrors() TO pg_monitor;
GRANT SELECT ON jobs, devices, links, memory, kept, keep_progress, mirrors, mirror_progress TO pg_monitor;

-- Only backends that have loaded the library have the planner's hooks.
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT
        FROM pg_catalog.unnest(ARRAY['session_preload_libraries',
                                     'shared_preload_libraries',
                                     'local_preload_libraries']) AS setting,
             pg_catalog.regexp_split_to_table(
                 pg_catalog.current_setting(setting), '\s*,\s*') AS library
        WHERE pg_catalog.btrim(library, ' "') OPERATOR(pg_catalog.~) '^(.*/)?gpujoin(\.so)?$')
    THEN
        -- extension scripts run with notices switched off
        PERFORM pg_catalog.set_config('client_min_messages', 'notice', true);
        RAISE NOTICE 'gpujoin is not loaded into new sessions'
            USING HINT = pg_catalog.format(
                'Run "ALTER DATABASE %I SET session_preload_libraries = %s". No restart is needed.',
                pg_catalog.current_database(),
                -- the libraries that are loaded already, each quoted by itself
                (SELECT pg_catalog.string_agg(pg_catalog.quote_literal(name), ', ')
                 FROM (SELECT pg_catalog.btrim(library, ' "')
                       FROM pg_catalog.regexp_split_to_table(
                           pg_catalog.current_setting('session_preload_libraries'), '\s*,\s*') AS library
                       WHERE pg_catalog.btrim(library, ' "') OPERATOR(pg_catalog.<>) ''
                       UNION ALL SELECT 'gpujoin') AS libraries(name)));
    END IF;
END
$$;
