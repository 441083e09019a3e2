package source

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"
)

// pagesOfRange is the size of the ranges that a table is copied in, in pages of 8 KB: large
// enough that a statement's own cost does not count, small enough that loaders end together.
const pagesOfRange = 4096

// piece is a range of a table's pages.
type piece struct {
	table      *Table
	first, end uint32
}

// pieces divides tables. The last range of each is open: pages may have been added since
// the catalogue was read.
func pieces(tables []*Table) []piece {
	var all []piece
	for _, t := range tables {
		first := int64(0)
		for ; first+pagesOfRange < t.length; first += pagesOfRange {
			all = append(all, piece{t, uint32(first), uint32(first + pagesOfRange)})
		}
		all = append(all, piece{t, uint32(first), math.MaxUint32})
	}
	return all
}

// loader is a connection in a transaction with the snapshot of a slot.
type loader struct {
	conn *pgconn.PgConn
}

// newLoader takes a connection and imports the snapshot. Then it locks the tables, so that
// nobody rewrites or alters them until the load has ended.
func (s *server) newLoader(ctx context.Context, snapshot string, tables []*Table) (*loader, error) {
	conn, err := s.plain(ctx)
	if err != nil {
		return nil, err
	}
	l := &loader{conn: conn}
	// Loaders that wait for each other's end, behind somebody who awaits an exclusive lock,
	// are no deadlock that the server sees.
	sql := patient(conn) + "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET TRANSACTION SNAPSHOT " + quoteLiteral(snapshot) + "; SET LOCAL lock_timeout = '5s'"
	for _, t := range tables {
		sql += "; LOCK TABLE ONLY " + t.Name.String() + " IN ACCESS SHARE MODE"
	}
	if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
		l.end()
		return nil, translate("importing a snapshot", err)
	}
	return l, nil
}

// newLoaders opens n loaders. On an error it returns those that it has opened.
func (s *server) newLoaders(ctx context.Context, n int, snapshot string, tables []*Table) ([]*loader, error) {
	var all []*loader
	for range n {
		l, err := s.newLoader(ctx, snapshot, tables)
		if err != nil {
			return all, err
		}
		all = append(all, l)
	}
	return all, nil
}

// end ends the transaction with its connection.
func (l *loader) end() { hangUp(l.conn) }

// copyPiece copies a piece to deliver and returns its rows.
func (l *loader) copyPiece(ctx context.Context, p piece, deliver func(*Batch) error) (int64, error) {
	r := newCopyReader(len(p.table.Published), deliver)
	if _, err := l.conn.CopyTo(ctx, r, copyOf(p.table, p.first, p.end)); err != nil {
		return r.rows, translate("copying "+p.table.Name.String(), err)
	}
	return r.rows, r.finish()
}

// copyAll copies pieces with all loaders and returns the first error, with its table.
func copyAll(ctx context.Context, loaders []*loader, work []piece, deliver func(*Table, *Batch) error) (*Table, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next atomic.Int64
	var first struct {
		sync.Once
		table *Table
		err   error
	}
	var all sync.WaitGroup
	for _, l := range loaders {
		all.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(work) {
					return
				}
				p := work[i]
				_, err := l.copyPiece(ctx, p, func(b *Batch) error { return deliver(p.table, b) })
				if err != nil {
					first.Do(func() { first.table, first.err = p.table, err })
					cancel()
				}
			}
		})
	}
	all.Wait()
	if first.err == nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return first.table, first.err
}
