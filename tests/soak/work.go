package soak

import (
	"context"
	"fmt"
	"time"

	"gpujoin/tests/harness"
)

// compared is one of how many queries is compared with its native plan.
const compared = 4

// read runs a query; some run twice in one snapshot, natively and as the planner likes, and
// their rows are compared. Without the extension both are native, so that the load is the same.
func (c *client) read(m mode) error {
	sql := query(c.Rand)
	if c.IntN(compared) > 0 {
		_, err := c.query(m, sql)
		if err == nil {
			c.c.count(m, false)
		}
		return err
	}
	native, planned := "select 1", "select 1"
	if m == with {
		native, planned = "set local gpujoin.enabled = off", "set local gpujoin.enabled = on"
	}
	if err := c.script(m, "begin isolation level repeatable read", native); err != nil {
		return err
	}
	want, err := c.query(m, sql)
	if err == nil {
		if _, err = c.query(m, planned); err == nil {
			var got *harness.Result
			if got, err = c.query(m, sql); err == nil {
				c.c.count(m, true)
				if d := harness.SameRows(want, got); d != "" {
					c.c.wrong(fmt.Sprintf("%s the extension: %s: %s", m, sql, d))
				}
			}
		}
	}
	if !c.sessions[m].Conn().IsClosed() {
		if _, end := c.query(m, "rollback"); err == nil {
			err = end
		}
	}
	return err
}

// write runs a short transaction, whose time counts; some change rows that queries read.
func (c *client) write(m mode) error {
	if c.IntN(20) == 0 {
		id := c.IntN(facts)
		_, err := c.query(m, fmt.Sprintf("update fact set v = v + 1 where id between %d and %d", id, id+20))
		return err
	}
	sql := bank.Transaction(c.Rand)
	began := time.Now()
	if err := c.script(m, sql); err != nil {
		return err
	}
	c.c.took(m, time.Since(began))
	return nil
}

// visit opens a session, asks, and goes: in order, without a word, or in the middle of a query.
func (c *client) visit(m mode) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := c.w.connect(ctx, m)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // some have ended it
	switch c.IntN(3) {
	case 0:
		time.AfterFunc(time.Duration(c.IntN(40))*time.Millisecond, func() { _ = s.Conn().Conn().Close() })
		_ = s.Exec(ctx, query(c.Rand)) // it ends anyhow
		return nil
	case 1:
		if err := s.Exec(ctx, query(c.Rand)); err != nil {
			return err
		}
		return s.Conn().Conn().Close()
	}
	return s.Exec(ctx, query(c.Rand))
}

// cursor reads a join in portions and leaves some rows.
func (c *client) cursor(m mode) error {
	fetches := []string{"begin", "declare c no scroll cursor for select f.id, f.note, d.label from fact f join dim d on f.k = d.k"}
	for range 1 + c.IntN(20) {
		fetches = append(fetches, "fetch 500 from c", "select pg_sleep(0.005)")
	}
	return c.script(m, append(fetches, []string{"commit", "rollback", "close c; commit"}[c.IntN(3)])...)
}

func (c *client) vacuum(m mode) error {
	_, err := c.query(m, "vacuum "+[]string{"", "(analyze)", "(freeze)"}[c.IntN(3)]+" "+[]string{"fact", "dim", "moving", "history"}[c.IntN(4)])
	return err
}

// define changes definitions.
func (c *client) define(m mode) error {
	switch c.IntN(6) {
	case 0:
		return c.script(m, "alter table moving add column if not exists more int8 default 7")
	case 1:
		return c.script(m, "alter table moving drop column if exists more")
	case 2:
		return c.script(m, "create index if not exists moving_k on moving (k)")
	case 3:
		return c.script(m, "drop index if exists moving_k")
	case 4:
		return c.script(m, "begin", "truncate moving", fmt.Sprintf("insert into moving (k, v, label) select k, v + %d, label from dim", c.IntN(100)), "commit", "analyze moving")
	}
	return c.script(m, "drop table if exists short_lived", "create table short_lived as select k, v from dim limit 5000", "analyze short_lived",
		"select count(*) from fact f join short_lived s on f.k = s.k", "truncate short_lived", "drop table short_lived")
}

// cancel cancels what some reader does, and now and then ends its session.
func (c *client) cancel(m mode) error {
	kind := "cancel"
	if c.IntN(40) == 0 {
		kind = "terminate"
	}
	_, err := c.query(m, fmt.Sprintf(`select pg_%s_backend(pid) from (select pid from pg_stat_activity
		where application_name = 'reader' and state = 'active' order by random() limit 1) s`, kind))
	return err
}
