package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// publication is the state of a publication and of its tables.
type publication struct {
	print   string // changes with the publication's own row
	owned   bool
	all     bool // all operations are published
	members map[uint32]member
}

// member is a published table.
type member struct {
	print    string // changes when the table is taken out and put back
	filtered bool   // it has a row filter or a list of columns
}

const publicationQuery = `
select p.oid::text || ':' || p.xmin::text, pg_catalog.pg_has_role(p.pubowner, 'USAGE'),
	p.pubinsert and p.pubupdate and p.pubdelete and p.pubtruncate
from pg_catalog.pg_publication p where p.pubname = $1`

// A table is published by itself, by its schema or because all are.
const membersQuery = `
select g.relid, coalesce(r.oid::text || ':' || r.xmin::text, '') || '/' || coalesce(s.oid::text || ':' || s.xmin::text, ''),
	coalesce(r.prqual is not null or r.prattrs is not null, false)
from pg_catalog.pg_publication p
	cross join lateral (select distinct t.relid from pg_catalog.pg_get_publication_tables(p.pubname::text) t) g
	join pg_catalog.pg_class c on c.oid = g.relid
	left join pg_catalog.pg_publication_rel r on r.prpubid = p.oid and r.prrelid = g.relid
	left join pg_catalog.pg_publication_namespace s on s.pnpubid = p.oid and s.pnnspid = c.relnamespace
where p.pubname = $1 and g.relid = any($2)`

// publicationOf reads a publication, with those of some tables that are in it; nil: there is
// none.
func publicationOf(ctx context.Context, db querier, name string, oids []uint32) (*publication, error) {
	const doing = "reading the publication"
	p := &publication{members: map[uint32]member{}}
	err := db.QueryRow(ctx, publicationQuery, name).Scan(&p.print, &p.owned, &p.all)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, translate(doing, err)
	}
	rows, err := db.Query(ctx, membersQuery, name, oids)
	if err != nil {
		return nil, translate(doing, err)
	}
	for rows.Next() {
		var oid uint32
		var m member
		if err := rows.Scan(&oid, &m.print, &m.filtered); err != nil {
			return nil, translate(doing, err)
		}
		p.members[oid] = m
	}
	return p, translate(doing, rows.Err())
}

// printOf changes whenever changes of the table may have been left out of the stream. ok:
// the table is published.
func (p *publication) printOf(oid uint32) (print string, ok bool) {
	m, ok := p.members[oid]
	return p.print + " " + m.print, ok
}

// publish makes sure that the tables are in the publication, and makes it if there is none.
// It returns the print of each published table, and the error of each other one.
func (s *server) publish(ctx context.Context, name string, tables []*Table) (prints map[uint32]string, failed map[uint32]error, err error) {
	oids := make([]uint32, len(tables))
	for i, t := range tables {
		oids[i] = t.OID
	}
	p, err := publicationOf(ctx, s.pool, name, oids)
	if err != nil {
		return nil, nil, err
	}
	if p == nil {
		if err := s.createPublication(ctx, name, tables); err != nil {
			return nil, nil, err
		}
		if p, err = publicationOf(ctx, s.pool, name, oids); err != nil {
			return nil, nil, err
		}
		if p == nil {
			return nil, nil, errNoPublication.because("%s was dropped again", name)
		}
	}
	if !p.all {
		return nil, nil, errPublish.because("%s", name).advising(
			"ALTER PUBLICATION %s SET (publish = 'insert, update, delete, truncate')", quoteIdentifier(name))
	}
	failed = map[uint32]error{}
	added := false
	for _, t := range tables {
		if _, ok := p.members[t.OID]; ok {
			continue
		}
		if err := s.addToPublication(ctx, name, t, p.owned); err != nil {
			failed[t.OID] = err
			continue
		}
		added = true
	}
	if added {
		again, err := publicationOf(ctx, s.pool, name, oids)
		if err != nil {
			return nil, nil, err
		}
		if again == nil || again.print != p.print {
			return nil, nil, errRepublished.because("%s", name)
		}
		p = again
	}
	prints = map[uint32]string{}
	for _, t := range tables {
		print, ok := p.printOf(t.OID)
		switch {
		case failed[t.OID] != nil:
		case !ok:
			failed[t.OID] = errRepublished.because("%s", t.Name)
		case p.members[t.OID].filtered:
			failed[t.OID] = errPublishedPart.because("%s", t.Name).advising(
				"ALTER PUBLICATION %s DROP TABLE %s; ALTER PUBLICATION … ADD TABLE …", quoteIdentifier(name), t.Name)
		default:
			prints[t.OID] = print
		}
	}
	return prints, failed, nil
}

// createPublication makes an empty publication. A table is added by a statement of its own,
// because the role may own some of them only.
func (s *server) createPublication(ctx context.Context, name string, tables []*Table) error {
	sql := "CREATE PUBLICATION " + quoteIdentifier(name) + " WITH (publish = 'insert, update, delete, truncate')"
	if s.maker != "" { // in the same transaction
		sql += "; COMMENT ON PUBLICATION " + quoteIdentifier(name) + " IS " + quoteLiteral(s.maker)
	}
	_, err := s.pool.Exec(ctx, sql)
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case "42710", "23505": // another session made it meanwhile
			return nil
		case "42501":
			return noPublication(name, tables).from(err)
		}
	}
	return translate("creating the publication", err)
}

// noPublication says what the owner of the tables would have to execute.
func noPublication(name string, tables []*Table) *Error {
	var names []string
	for _, t := range tables {
		names = append(names, t.Name.String())
	}
	return errNoPublication.because("%s", name).advising("as the owner of the tables: CREATE PUBLICATION %s FOR TABLE %s",
		quoteIdentifier(name), strings.Join(names, ", "))
}

func (s *server) addToPublication(ctx context.Context, name string, t *Table, owned bool) error {
	sql := fmt.Sprintf("ALTER PUBLICATION %s ADD TABLE ONLY %s", quoteIdentifier(name), t.Name)
	refusal := errNotPublished.because("%s, %s", t.Name, name).advising("as the owner of the publication and of the table: %s", sql)
	if !owned || !t.shared {
		return refusal
	}
	_, err := s.pool.Exec(ctx, sql)
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case "42710":
			return nil
		case "42501":
			return refusal.from(err)
		}
	}
	return translate("adding a table to the publication", err)
}

// missing returns the tables that are no longer as they were published, and why.
func missing(p *publication, prints map[uint32]string) map[uint32]error {
	lost := map[uint32]error{}
	for _, oid := range slices.Sorted(maps.Keys(prints)) {
		switch {
		case p == nil:
			lost[oid] = errRepublished.because("the publication was dropped")
		case !p.all:
			lost[oid] = errPublish
		default:
			if print, ok := p.printOf(oid); !ok || print != prints[oid] {
				lost[oid] = errRepublished.because("the table was taken out of it, or its part was changed")
			}
		}
	}
	return lost
}
