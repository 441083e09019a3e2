package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// Session is a connection. It uses the simple protocol, so that values are
// PostgreSQL's own text and a comparison of rows compares exactly what a user
// sees.
type Session struct {
	conn *pgconn.PgConn

	mu      sync.Mutex
	notices []string
}

// Result is the result of a statement.
type Result struct {
	Columns []string
	Rows    []string // fields joined by tabs, \N for NULL, as COPY writes them
	Tag     string
}

// ConnString says how programs that use libpq connect as the superuser.
func (c *Cluster) ConnString() string { return c.connString("postgres", "postgres") }

func (c *Cluster) connString(user, database string) string {
	return fmt.Sprintf("host='%s' port=%d user='%s' dbname='%s'", c.Sock, Port, user, database)
}

// Connect opens a session as the superuser.
func (c *Cluster) Connect(ctx context.Context) (*Session, error) {
	return c.ConnectAs(ctx, "postgres", "postgres")
}

// ConnectAs opens a session of a user in a database.
func (c *Cluster) ConnectAs(ctx context.Context, user, database string) (*Session, error) {
	return c.connect(ctx, user, database, nil)
}

// ConnectWith opens a session as the superuser with a setting that applies from
// its start.
func (c *Cluster) ConnectWith(ctx context.Context, setting, value string) (*Session, error) {
	return c.connect(ctx, "postgres", "postgres", map[string]string{setting: value})
}

func (c *Cluster) connect(ctx context.Context, user, database string, settings map[string]string) (*Session, error) {
	conf, err := pgconn.ParseConfig(c.connString(user, database))
	if err != nil {
		return nil, err
	}
	maps.Copy(conf.RuntimeParams, settings)
	s := &Session{}
	conf.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		s.mu.Lock()
		defer s.mu.Unlock()
		text := n.Severity + ": " + n.Message
		if n.Detail != "" {
			text += "\nDETAIL: " + n.Detail
		}
		s.notices = append(s.notices, text)
	}
	if s.conn, err = pgconn.ConnectConfig(ctx, conf); err != nil {
		return nil, err
	}
	return s, nil
}

// PID returns the backend's process id.
func (s *Session) PID() int { return int(s.conn.PID()) }

// Conn returns the connection, for COPY and the extended protocol.
func (s *Session) Conn() *pgconn.PgConn { return s.conn }

// Close ends the session.
func (s *Session) Close() error { return s.conn.Close(context.Background()) }

// Notices returns the notices since the last call.
func (s *Session) Notices() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.notices
	s.notices = nil
	return n
}

var copyText = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// Query runs statements and returns the last one's result.
func (s *Session) Query(ctx context.Context, sql string) (*Result, error) {
	var last *Result
	reader := s.conn.Exec(ctx, sql)
	for reader.NextResult() {
		rr := reader.ResultReader()
		last = &Result{}
		for _, f := range rr.FieldDescriptions() {
			last.Columns = append(last.Columns, f.Name)
		}
		var line bytes.Buffer
		for rr.NextRow() {
			line.Reset()
			for i, v := range rr.Values() {
				if i > 0 {
					line.WriteByte('\t')
				}
				switch {
				case v == nil:
					line.WriteString(`\N`)
				case bytes.ContainsAny(v, "\\\t\n\r"):
					line.WriteString(copyText.Replace(string(v)))
				default:
					line.Write(v)
				}
			}
			last.Rows = append(last.Rows, line.String())
		}
		tag, err := rr.Close()
		if err != nil {
			return nil, errors.Join(err, reader.Close())
		}
		last.Tag = tag.String()
	}
	if err := reader.Close(); err != nil {
		return nil, err
	}
	if last == nil {
		last = &Result{}
	}
	return last, nil
}

// Exec runs statements and ignores their rows.
func (s *Session) Exec(ctx context.Context, sql string) error {
	return s.conn.Exec(ctx, sql).Close()
}

// One returns the only field of the only row.
func (s *Session) One(ctx context.Context, sql string) (string, error) {
	r, err := s.Query(ctx, sql)
	if err != nil {
		return "", err
	}
	if len(r.Rows) != 1 || len(r.Columns) != 1 {
		return "", fmt.Errorf("%d rows of %d columns instead of one value: %s", len(r.Rows), len(r.Columns), sql)
	}
	return r.Rows[0], nil
}

// SQLState returns the SQLSTATE of a server's error, "" for other errors.
func SQLState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// SameRows compares two results as multisets and returns a description of the
// difference, or "".
func SameRows(want, got *Result) string {
	w, g := slices.Sorted(slices.Values(want.Rows)), slices.Sorted(slices.Values(got.Rows))
	if slices.Equal(w, g) {
		return ""
	}
	missing, extra := difference(w, g), difference(g, w)
	return fmt.Sprintf("%d rows instead of %d; missing %d: %s; too many %d: %s",
		len(g), len(w), len(missing), firstFew(missing), len(extra), firstFew(extra))
}

// difference returns the sorted multiset a - b.
func difference(a, b []string) []string {
	var only []string
	for i, j := 0, 0; i < len(a); {
		switch {
		case j == len(b) || a[i] < b[j]:
			only = append(only, a[i])
			i++
		case a[i] == b[j]:
			i++
			j++
		default:
			j++
		}
	}
	return only
}

func firstFew(rows []string) string {
	if len(rows) > 3 {
		return fmt.Sprintf("%q ...", rows[:3])
	}
	return fmt.Sprintf("%q", rows)
}
