package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gpujoin/tests/harness"
)

// mode says whether sessions have the extension.
type mode int

const (
	without mode = iota
	with
)

func (m mode) String() string { return [...]string{"without", "with"}[m] }

// patience is how long a statement may take. What takes longer hangs.
const patience = 60 * time.Second

// client is somebody who works, with a session of each mode. Sessions last for the whole run
// unless somebody ends them.
type client struct {
	*rand.Rand
	w        *world
	c        *campaign
	kind     string
	one      func(*client, mode) error // a statement or a transaction
	every    time.Duration             // pause between two, at most
	sessions [2]*harness.Session
}

// composition is the clients of a run.
var composition = []struct {
	kind  string
	count int
	every time.Duration
	one   func(*client, mode) error
}{
	{"reader", 16, 20 * time.Millisecond, (*client).read},
	{"writer", 8, 10 * time.Millisecond, (*client).write},
	{"visitor", 4, 50 * time.Millisecond, (*client).visit},
	{"cursor", 1, 20 * time.Millisecond, (*client).cursor},
	{"vacuumer", 1, 2 * time.Second, (*client).vacuum},
	{"owner", 1, 600 * time.Millisecond, (*client).define},
	{"canceller", 1, 300 * time.Millisecond, (*client).cancel},
}

// work works until the end of a window.
func (c *client) work(ctx context.Context, m mode, end time.Time) error {
	for ctx.Err() == nil && time.Now().Before(end) {
		if err := c.open(m); err != nil {
			return err
		}
		if err := c.one(c, m); err != nil && !expected(err) && !c.sessions[m].Conn().IsClosed() {
			return fmt.Errorf("%s %s the extension: [%s] %w", c.kind, m, harness.SQLState(err), err)
		}
		time.Sleep(time.Duration(c.Int64N(int64(c.every) + 1)))
	}
	return nil
}

// open opens the session of a mode if it has none, or if it was ended.
func (c *client) open(m mode) error {
	if s := c.sessions[m]; s != nil && !s.Conn().IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := c.w.connect(ctx, m)
	if err != nil {
		return err
	}
	c.sessions[m] = s
	if err := s.Exec(ctx, "set application_name = '"+c.kind+"'"); err != nil {
		return err
	}
	if m == without {
		return nil
	}
	// Some plan as the costs say, some always offload, some also keep every table.
	force := []string{"", "set gpujoin.debug_force = on", "set gpujoin.debug_force = on; set gpujoin.keep = always"}[c.IntN(3)]
	return s.Exec(ctx, force)
}

func (c *client) close() {
	for _, s := range c.sessions {
		if s != nil {
			_ = s.Close() // it may have been ended
		}
	}
}

func (c *client) query(m mode, sql string) (*harness.Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := c.sessions[m].Query(ctx, sql)
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %s takes more than %v: %s", errHang, c.kind, patience, sql)
	}
	return r, err
}

// script runs statements one after the other, and ends the transaction if one fails.
func (c *client) script(m mode, statements ...string) error {
	for _, sql := range statements {
		if _, err := c.query(m, sql); err != nil {
			if !c.sessions[m].Conn().IsClosed() {
				_, end := c.query(m, "rollback")
				err = errors.Join(err, end)
			}
			return err
		}
	}
	return nil
}

var errHang = errors.New("a statement hangs")

// expected reports whether what the clients do to each other explains an error: cancels,
// locks, changes of definitions.
func expected(err error) bool {
	if errors.Is(err, errHang) {
		return false
	}
	switch harness.SQLState(err) {
	case "57014", "57P01", "40001", "40P01", "55P03", "42P01", "42703":
		return true
	}
	return false
}
