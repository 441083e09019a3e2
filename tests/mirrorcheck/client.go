package mirrorcheck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gpujoin/tests/harness"
)

// patience is how long a statement may take, and a server or a mirror to be back. What takes
// longer hangs.
const patience = 90 * time.Second

// errLost is the error of statements whose session a server has ended.
var errLost = errors.New("the session is lost")

// errHang is the error of a statement that does not end.
var errHang = errors.New("a statement hangs")

func one[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// client is somebody who works in a session of one of the servers.
type client struct {
	*rand.Rand
	world *world
	name  string
	s     *harness.Session // nil: none is open
}

// connect opens a session as soon as the server accepts one, unless it is open.
func (c *client) connect(ctx context.Context, to *harness.Cluster) (fresh bool, err error) {
	if c.s != nil && !c.s.Conn().IsClosed() {
		return false, nil
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		c.s, err = to.Connect(ctx)
		if err == nil || ctx.Err() != nil {
			return true, err
		}
		if time.Now().After(deadline) {
			return false, fmt.Errorf("%w: the server does not come back: %w", errHang, err)
		}
	}
}

func (c *client) close() {
	if c.s != nil {
		_ = c.s.Close() // the server may have ended it
		c.s = nil
	}
}

// query runs statements in the open session.
func (c *client) query(sql string) (*harness.Result, error) {
	// Not the run's context: a statement ends in order when the run is over.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := c.s.Query(ctx, sql)
	switch {
	case err == nil:
		return r, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w for %v: %s: %s", errHang, patience, c.name, sql)
	case c.s.Conn().IsClosed() && harness.SQLState(err) == "":
		return nil, fmt.Errorf("%w: %w", errLost, err)
	}
	return nil, err
}

func (c *client) exec(sql string) error {
	_, err := c.query(sql)
	return err
}

// value returns the only value of a query.
func (c *client) value(sql string) (string, error) {
	r, err := c.query(sql)
	if err == nil && (len(r.Rows) != 1 || len(r.Columns) != 1) {
		err = fmt.Errorf("%d rows of %d columns instead of one value: %s", len(r.Rows), len(r.Columns), sql)
	}
	if err != nil {
		return "", err
	}
	return r.Rows[0], nil
}

// script runs statements one after the other, and ends the transaction if one fails.
func (c *client) script(statements ...string) error {
	for _, sql := range statements {
		if err := c.exec(sql); err != nil {
			if !c.s.Conn().IsClosed() {
				err = errors.Join(err, c.exec("rollback"))
			}
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// pause waits up to d.
func (c *client) pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(c.Int64N(int64(d)) + 1)):
	}
}

// lost reports whether an error says that a server ended the session or is not there.
func lost(err error) bool {
	switch harness.SQLState(err) {
	case "57P01", "57P02", "57P03", "08006", "08003":
		return true
	}
	return errors.Is(err, errLost)
}
