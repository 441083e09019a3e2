package source

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Snapshot is a view of the source at one moment, for the tables that a statement reads
// directly. All its reads see the same transactions. It is safe for concurrent use; its
// reads follow each other on one connection, so that a statement never waits for a second
// one that others hold.
type Snapshot struct {
	mu     sync.Mutex
	conn   *pgxpool.Conn
	locked map[Name]bool // before the snapshot was taken
	failed error         // of the source, which has ended the snapshot
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

// Snapshot opens a snapshot that sees everything that was committed before the call. The
// tables are those that will be read, as far as they are known: nobody may truncate or rewrite
// them until it is closed. Old snapshots see such tables empty, or as they are afterwards.
func (s *Session) Snapshot(ctx context.Context, tables ...Name) (*Snapshot, error) {
	const doing = "beginning a direct read"
	conn, err := s.server.pool.Acquire(ctx)
	if err != nil {
		return nil, translate(doing, err)
	}
	n := &Snapshot{conn: conn, locked: map[Name]bool{}}
	lock, err := n.lockable(ctx, tables)
	if err == nil {
		err = n.begin(ctx, lock, &s.published)
	}
	if err != nil {
		n.Close()
		return nil, translate(doing, err)
	}
	return n, nil
}

// begin takes a snapshot that sees all transactions that the mirrors have published.
func (n *Snapshot) begin(ctx context.Context, lock string, p *published) error {
	conn := n.conn.Conn().PgConn()
	// Locks are taken without a snapshot; the last statement takes it.
	sql := patient(conn) + "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; " + lock + visibilityQuery
	for deadline := time.Now().Add(askTime); ; {
		results, err := conn.Exec(ctx, sql).ReadAll()
		if err != nil {
			return err
		}
		sees, err := visibilityOf(results)
		if err != nil || p.visibleIn(sees) {
			return err
		}
		if time.Now().After(deadline) {
			return errTimeout.because("a transaction that it has sent stays invisible there")
		}
		if _, err := conn.Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
			return err
		}
		time.Sleep(snapshotPause)
	}
}

// lockable returns the statement that locks those of the tables that can be locked: not
// materialized views and foreign tables, nor what the role may read some columns of only.
func (n *Snapshot) lockable(ctx context.Context, tables []Name) (string, error) {
	if len(tables) == 0 {
		return "", nil
	}
	var schemas, names []string
	for _, t := range tables {
		schemas, names = append(schemas, t.Schema), append(names, t.Table)
	}
	rows, err := n.conn.Query(ctx, `select n.nspname, c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
		where (n.nspname, c.relname) in (select * from unnest($1::text[], $2::text[])) and c.relkind in ('r', 'p', 'v')
			and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')`, schemas, names)
	if err != nil {
		return "", err
	}
	var list []string
	for rows.Next() {
		var t Name
		if err := rows.Scan(&t.Schema, &t.Table); err != nil {
			return "", err
		}
		n.locked[t] = true
		list = append(list, t.String())
	}
	if err := rows.Err(); err != nil || list == nil {
		return "", err
	}
	return "LOCK TABLE " + strings.Join(list, ", ") + " IN ACCESS SHARE MODE; ", nil
}

// Copy reads a table and calls deliver with its rows, batch by batch. An error of the
// source ends the snapshot, and is that of all reads that follow.
func (n *Snapshot) Copy(ctx context.Context, what Read, deliver func(*Batch) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn == nil {
		return errLost.because("the snapshot was closed")
	}
	if n.failed != nil {
		return n.failed
	}
	doing := "reading " + what.Table.String()
	r := newCopyReader(len(what.Columns), deliver)
	if _, err := n.conn.Conn().PgConn().CopyTo(ctx, r, what.statement()); err != nil {
		var refused *pgconn.PgError
		if err = translate(doing, err); errors.As(err, &refused) {
			n.failed = err
		}
		return err
	}
	if !n.locked[what.Table] {
		// The query has locked it. The snapshot sees the catalogue as it was, the function as it is.
		var changed bool
		if err := n.conn.QueryRow(ctx, `select exists (select from pg_catalog.pg_class c where c.oid in (select pg_catalog.to_regclass($1)
			union all select relid from pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1))) and c.relkind in ('r', 'm')
			and c.relfilenode is distinct from pg_catalog.pg_relation_filenode(c.oid))`, what.Table.String()).Scan(&changed); err != nil {
			return translate(doing, err)
		}
		if changed {
			return errTruncated.because("%s", what.Table)
		}
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
