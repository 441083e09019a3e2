package keptcheck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"gpujoin/tests/harness"
)

// errLost is the error of statements whose session the server has ended.
var errLost = errors.New("the session is lost")

// errHang is the error of a statement that does not end.
var errHang = errors.New("a statement hangs")

// client is somebody who works on the server: a session, which is opened again when the
// server ends it.
type client struct {
	*rand.Rand
	w    *world
	name string
	s    *harness.Session // nil: none is open
	log  func(format string, args ...any)
}

// open opens the session if it is lost.
func (c *client) open(ctx context.Context) error {
	if c.s != nil && !c.s.Conn().IsClosed() {
		return nil
	}
	s, err := c.w.connect(ctx)
	if err != nil {
		return err
	}
	c.s = s
	return nil
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

// pause waits up to d, as users do between statements.
func (c *client) pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(c.Int64N(int64(d)) + 1)):
	}
}

// expected reports whether concurrent work, or a fault that this run causes, explains an error.
func expected(err error) bool {
	if errors.Is(err, errLost) {
		return true
	}
	switch harness.SQLState(err) {
	case "40001", "40P01", "55P03", "55006", "57P01", "57P02", "57P03", "25P02", "08006",
		"42P01", "42703", "42701", "42P07", "42704", "42710", "42809", "42804", "42P16", "23514", "55000", "0A000", "22023", "21000", "23505":
		return true
	}
	// Of two sessions that change the same row of the catalogue, or of which one drops a table.
	return err != nil && (strings.Contains(err.Error(), "tuple concurrently") || strings.Contains(err.Error(), "cache lookup failed for relation"))
}
