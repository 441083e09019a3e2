package source

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Snapshot is a view of the source at one moment, for the tables that a statement reads
// directly. All its reads see the same transactions. It is safe for concurrent use; its
// reads follow each other on one connection, so that a statement never waits for a second
// one that others hold.
type Snapshot struct {
	mu   sync.Mutex
	conn *pgxpool.Conn
}

// Read says what is read of a table.
type Read struct {
	Table   Name
	Columns []Expression // in the order of the values; none: the rows only count
	Where   string       // a condition in SQL with qualified names; "": all rows
	Rest    string       // SQL that follows the condition
}

// Expression is what is read of each row: a column, or SQL.
type Expression struct {
	Column string // its name; "": SQL
	Cast   string // the type in SQL that the column's values are wanted in; "": its own
	SQL    string
}

func (e Expression) String() string {
	switch {
	case e.Column == "":
		return e.SQL
	case e.Cast == "":
		return quoteIdentifier(e.Column)
	}
	return quoteIdentifier(e.Column) + "::" + e.Cast
}

// Snapshot opens a snapshot that sees everything that was committed before the call.
func (s *Session) Snapshot(ctx context.Context) (*Snapshot, error) {
	const doing = "beginning a direct read"
	conn, err := s.server.pool.Acquire(ctx)
	if err != nil {
		return nil, translate(doing, err)
	}
	// The first query takes the snapshot.
	sql := patient(conn.Conn().PgConn()) + "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT"
	if _, err := conn.Conn().PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		n := &Snapshot{conn: conn}
		n.Close()
		return nil, translate(doing, err)
	}
	return &Snapshot{conn: conn}, nil
}

// Copy reads a table and calls deliver with its rows, batch by batch. An error ends the
// snapshot for all reads that follow.
func (n *Snapshot) Copy(ctx context.Context, what Read, deliver func(*Batch) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn == nil {
		return errLost.because("the snapshot was closed")
	}
	r := newCopyReader(len(what.Columns), deliver)
	if _, err := n.conn.Conn().PgConn().CopyTo(ctx, r, what.statement()); err != nil {
		return translate("reading "+what.Table.String(), err)
	}
	return r.finish()
}

// Close ends the snapshot. It may be called again.
func (n *Snapshot) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if conn := n.conn.Conn().PgConn(); conn.Exec(ctx, "ROLLBACK").Close() != nil {
		hangUp(conn)
	}
	n.conn.Release()
	n.conn = nil
}

func (r Read) statement() string {
	columns := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		columns[i] = c.String()
	}
	sql := "COPY (SELECT " + strings.Join(columns, ", ") + " FROM " + r.Table.String()
	if r.Where != "" {
		sql += " WHERE (" + r.Where + ")"
	}
	sql += r.Rest
	return sql + ") TO STDOUT (FORMAT binary)"
}
