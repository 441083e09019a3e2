package source

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Column is a column of a source's table.
type Column struct {
	Name          string
	Attnum        int16 // from 1; dropped columns keep their number
	Type          uint32
	BaseType      uint32 // Type, or of a domain the type below all domains
	BaseTypmod    int32  // that of BaseType's values
	Enum          bool   // BaseType is an enum
	Typmod        int32
	TypeName      string // as format_type writes it, without a search path
	Collation     uint32 // 0: none
	CollationName string // qualified; "": none, or the type's default
	NotNull       bool
	Generated     bool // stored; neither published nor loaded
	Dropped       bool
	Binary        bool // the type has a send function
	Comment       string
}

// Table is a table of the source.
type Table struct {
	Name
	OID       uint32
	Columns   []Column // by Attnum, with those that are generated or dropped
	Published []int    // places in Columns of those that the source publishes, in its order
	Key       []int    // places in Published of the replica identity's columns, in the order of its index
	Rows      float64  // pg_class.reltuples; -1: never analyzed
	Pages     int64    // pg_class.relpages
	Bytes     int64    // size of the table and of its long values, if it was asked for
	Comment   string
	// Direct says why the table cannot be mirrored and is read directly; nil: it can be.
	Direct *Error

	length   int64     // pages of the table, when this was read
	file     uint32    // pg_relation_filenode; another one after each rewrite
	print    string    // of the columns: what ALTER TABLE changes
	encoding *encoding // of a Mirrored target
	shared   bool      // the role may use the owner's rights
}

// These queries take no lock of a table: a load that waited for one, while it holds others,
// could wait for itself.

// tablesQuery returns the relations of a list of names, given as an array of schemas and
// one of tables.
const tablesQuery = `
select c.oid, n.nspname, c.relname, c.relkind::text, c.relpersistence::text, c.relreplident::text, c.reltuples::float8, c.relpages::int8,
	exists (select from pg_catalog.pg_inherits i where i.inhparent = c.oid),
	pg_catalog.has_table_privilege(c.oid, 'SELECT'), pg_catalog.row_security_active(c.oid), pg_catalog.pg_has_role(c.relowner, 'USAGE'),
	coalesce(pg_catalog.pg_relation_filenode(c.oid), 0),
	coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), '')
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and pg_catalog.has_schema_privilege(n.oid, 'USAGE')
	and (n.nspname, c.relname) in (select * from unnest($1::text[], $2::text[]))
order by n.nspname, c.relname`

// columnsQuery returns the columns of relations.
const columnsQuery = `
select a.attrelid, a.attnum, a.attname, a.atttypid, coalesce(b.oid, 0), coalesce(b.typmod, -1), coalesce(b.typtype = 'e', false), a.atttypmod, coalesce(pg_catalog.format_type(a.atttypid, a.atttypmod), ''),
	a.attcollation, coalesce(case when a.attcollation <> t.typcollation then pg_catalog.quote_ident(cn.nspname) || '.' || pg_catalog.quote_ident(co.collname) end, ''),
	a.attnotnull, a.attgenerated <> '', a.attisdropped, coalesce(t.typsend <> 0, false),
	coalesce(pg_catalog.col_description(a.attrelid, a.attnum), ''), a.xmin::text
from pg_catalog.pg_attribute a
	left join pg_catalog.pg_type t on t.oid = a.atttypid
	left join lateral (
		with recursive base as (
			select t.oid, t.typtype, t.typbasetype, case when t.typtype = 'd' then t.typtypmod else a.atttypmod end as typmod
			union all select d.oid, d.typtype, d.typbasetype, case when d.typtype = 'd' then d.typtypmod else base.typmod end
			from base join pg_catalog.pg_type d on base.typtype = 'd' and d.oid = base.typbasetype)
		select base.oid, base.typtype, base.typmod from base where base.typtype <> 'd') b on true
	left join pg_catalog.pg_collation co on co.oid = a.attcollation
	left join pg_catalog.pg_namespace cn on cn.oid = co.collnamespace
where a.attnum > 0 and a.attrelid = any($1)
order by a.attrelid, a.attnum`

// identityQuery returns the columns of the indexes that can be replica identities, as
// RelationGetIndexList of relcache.c selects them.
const identityQuery = `
select i.indrelid, i.indisprimary, i.indisreplident, (i.indkey::int2[])[0:i.indnkeyatts - 1]
from pg_catalog.pg_index i
where i.indrelid = any($1) and (i.indisprimary or i.indisreplident)
	and i.indisvalid and i.indisunique and i.indimmediate and i.indpred is null`

// querier is a pool or one of its connections.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// describe reads the tables of a list of names, in no particular order. Those that do not
// exist, or in schemas that the role may not use, are left out.
func describe(ctx context.Context, db querier, names []Name) ([]*Table, error) {
	schemas, tables := make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		schemas[i], tables[i] = n.Schema, n.Table
	}
	const doing = "reading the catalogue"
	rows, err := db.Query(ctx, tablesQuery, schemas, tables)
	if err != nil {
		return nil, translate(doing, err)
	}
	var found []*Table
	var oids []uint32
	identity := map[uint32]string{}
	for rows.Next() {
		t := &Table{}
		var kind, persistence, replident string
		var children, selects, secured bool
		if err := rows.Scan(&t.OID, &t.Schema, &t.Table, &kind, &persistence, &replident, &t.Rows, &t.Pages, &children,
			&selects, &secured, &t.shared, &t.file, &t.Comment); err != nil {
			return nil, translate(doing, err)
		}
		t.Direct = ofRelation(t, kind, persistence, replident, children, selects, secured)
		found, oids = append(found, t), append(oids, t.OID)
		identity[t.OID] = replident
	}
	if err := rows.Err(); err != nil {
		return nil, translate(doing, err)
	}
	if err := readColumns(ctx, db, found, oids); err != nil {
		return nil, translate(doing, err)
	}
	keys, err := readIdentities(ctx, db, oids, identity)
	if err != nil {
		return nil, translate(doing, err)
	}
	for _, t := range found {
		t.publish(keys[t.OID])
	}
	return found, nil
}

func readColumns(ctx context.Context, db querier, tables []*Table, oids []uint32) error {
	byOID := map[uint32]*Table{}
	for _, t := range tables {
		byOID[t.OID] = t
	}
	rows, err := db.Query(ctx, columnsQuery, oids)
	if err != nil {
		return err
	}
	for rows.Next() {
		var c Column
		var oid uint32
		var xmin string
		if err := rows.Scan(&oid, &c.Attnum, &c.Name, &c.Type, &c.BaseType, &c.BaseTypmod, &c.Enum, &c.Typmod, &c.TypeName, &c.Collation, &c.CollationName,
			&c.NotNull, &c.Generated, &c.Dropped, &c.Binary, &c.Comment, &xmin); err != nil {
			return err
		}
		t := byOID[oid]
		t.Columns = append(t.Columns, c)
		t.print += fmt.Sprintf("%d:%s ", c.Attnum, xmin)
	}
	return rows.Err()
}

// readIdentities returns the attribute numbers of each table's replica identity.
func readIdentities(ctx context.Context, db querier, oids []uint32, identity map[uint32]string) (map[uint32][]int16, error) {
	rows, err := db.Query(ctx, identityQuery, oids)
	if err != nil {
		return nil, err
	}
	keys := map[uint32][]int16{}
	for rows.Next() {
		var oid uint32
		var primary, chosen bool
		var attnums []int16
		if err := rows.Scan(&oid, &primary, &chosen, &attnums); err != nil {
			return nil, err
		}
		if identity[oid] == "d" && primary || identity[oid] == "i" && chosen {
			keys[oid] = attnums
		}
	}
	return keys, rows.Err()
}

// measure reads the tables' sizes. It waits while a table is locked exclusively.
func measure(ctx context.Context, db querier, tables []*Table) error {
	var oids []uint32
	for _, t := range tables {
		oids = append(oids, t.OID)
	}
	rows, err := db.Query(ctx, `select o, coalesce(pg_catalog.pg_table_size(o::regclass), 0),
		coalesce(pg_catalog.pg_relation_size(o::regclass), 0) / current_setting('block_size')::int8
		from unnest($1::oid[]) with ordinality u (o, i) order by i`, oids)
	if err != nil {
		return translate("measuring tables", err)
	}
	for i := 0; rows.Next() && i < len(tables); i++ {
		var oid uint32
		if err := rows.Scan(&oid, &tables[i].Bytes, &tables[i].length); err != nil {
			return translate("measuring tables", err)
		}
	}
	rows.Close()
	return translate("measuring tables", rows.Err())
}
