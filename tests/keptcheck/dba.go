package keptcheck

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// vacuumer makes blocks all-visible again.
type vacuumer struct{ *client }

func (v *vacuumer) run(ctx context.Context) error {
	for i := 0; ctx.Err() == nil; i++ {
		if err := v.open(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		t := &v.w.tables[i%len(v.w.tables)]
		options := one(v.Rand, "", "", "", "", "", "(analyze)", "(freeze)", "(freeze)", "(disable_page_skipping)", "(index_cleanup off)", "(truncate off)")
		relation := one(v.Rand, t.relations()...)
		if err := v.exec("vacuum " + options + " " + relation); err != nil && !expected(err) {
			return fmt.Errorf("vacuum %s %s: %w", options, relation, err)
		}
		v.pause(ctx, 100*time.Millisecond)
	}
	return nil
}

// attach attaches a partition. Without the lock, a transaction that has read the table may
// see the partition's rows in its next statement.
const attach = "begin; lock table part; alter table part attach partition part_3 for values in (3); commit"

// dba changes definitions and files of tables, and ends what others have prepared.
type dba struct{ *client }

func (d *dba) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := d.open(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := d.one(); err != nil && !expected(err) {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		d.pause(ctx, 1500*time.Millisecond)
	}
	return nil
}

// one runs one statement or transaction.
func (d *dba) one() error {
	if err := d.endPrepared(); err != nil {
		return err
	}
	other := one(d.Rand, "other", "other", "swap", "part_1", "dim", "frozen", "calm")
	x := extra[d.IntN(len(extra))]
	after := func(sql ...string) error {
		if err := d.script(sql...); err != nil || d.IntN(4) == 0 {
			return err
		}
		return d.script("vacuum " + other)
	}
	column := other // of a partition, the parent's columns change
	if other == "part_1" {
		column = "part"
	}
	switch d.IntN(17) {
	case 0:
		return after("vacuum full " + other)
	case 1:
		return after("cluster " + other + " using " + other + "_k_idx")
	case 2:
		return d.truncate()
	case 3:
		return d.script("alter table " + column + " add " + x + " " + one(d.Rand, "int", "int default 7", "text default 'some'", "numeric default 1.5", "int8 default random() * 1000"))
	case 4:
		return d.script("alter table " + column + " drop if exists " + x)
	case 5:
		return d.script("alter table " + column + " rename " + x + " to " + extra[d.IntN(len(extra))])
	case 6:
		return after("alter table " + column + " alter padding type " + one(d.Rand, "varchar", "text", "varchar(400)"))
	case 7:
		return after("begin", "alter table "+column+" alter k type int8", one(d.Rand, "rollback", "alter table "+column+" alter k type int4", "alter table "+column+" alter k type int4; commit", "commit"),
			"begin", "alter table "+column+" alter k type int4", "commit")
	case 8:
		return after("alter table " + other + " set tablespace " + one(d.Rand, "second", "pg_default"))
	case 9:
		return d.script("alter table part detach partition part_3", fmt.Sprintf("select pg_sleep(%d / 1000.0)", d.IntN(300)),
			attach)
	case 10, 11:
		return d.swap()
	case 12:
		return d.script("refresh materialized view "+one(d.Rand, "", "concurrently ")+"summary", "vacuum summary")
	case 13:
		return after("alter table swap set unlogged", fmt.Sprintf("select pg_sleep(%d / 1000.0)", d.IntN(200)), "alter table swap set logged")
	case 14:
		return d.script("reindex table " + other)
	case 15:
		return d.script("checkpoint")
	default: // the attachment failed, or was lost, and columns may differ
		const drop = " drop if exists x1, drop if exists x2, drop if exists x3"
		return d.script("alter table part_3"+drop, "alter table part"+drop, attach)
	}
}

// truncate empties a table and fills it again, in one transaction or later.
func (d *dba) truncate() error {
	var t *table
	for t == nil || t.pad > 1000 || t.name == "frozen" || t.name == "fact" {
		t = &d.w.tables[d.IntN(len(d.w.tables))]
	}
	fill := t.insert(0, t.rows-1)
	if d.IntN(2) == 0 {
		if err := d.script("begin", "truncate "+t.name, fill, one(d.Rand, "commit", "rollback")); err != nil {
			return err
		}
		return d.script("vacuum " + t.name)
	}
	return d.script("truncate "+t.name, fmt.Sprintf("select pg_sleep(%d / 1000.0)", d.IntN(100)), fill, "vacuum "+t.name)
}

// swap replaces a table by a copy, as tools do that remove bloat.
func (d *dba) swap() error {
	return d.script("begin", "lock table swap in share mode", "create table swap_new (like swap including all)",
		"insert into swap_new ("+columns+") select "+columns+" from swap", "alter table swap rename to swap_old", "alter table swap_new rename to swap",
		"drop table swap_old", one(d.Rand, "commit", "commit", "rollback"), one(d.Rand, "vacuum swap", "select 1"))
}

// endPrepared ends transactions that their owners have left.
func (d *dba) endPrepared() error {
	r, err := d.query("select gid from pg_prepared_xacts where prepared < clock_timestamp() - interval '1 second'")
	if err != nil {
		return err
	}
	for _, name := range r.Rows {
		if err := d.script(one(d.Rand, "commit", "rollback") + " prepared '" + name + "'"); err != nil {
			return err
		}
	}
	return nil
}

// saboteur kills the daemon and backends, and restarts the server.
type saboteur struct {
	*client
	every time.Duration // between two faults, on average
}

func (s *saboteur) run(ctx context.Context) error {
	for {
		s.pause(ctx, 2*s.every)
		if ctx.Err() != nil {
			return nil
		}
		if err := s.open(ctx); err != nil {
			return err
		}
		var err error
		switch s.IntN(5) {
		case 0, 1:
			err = s.w.killDaemon(s.Rand)
		case 2, 3:
			err = s.w.crash(context.Background(), s.s)
		default:
			err = s.w.restart(one(s.Rand, syscall.SIGINT, syscall.SIGQUIT))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
}
