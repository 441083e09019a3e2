package mirrorcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
)

// reader runs queries of the foreign tables, each of which must see one committed state.
type reader struct {
	*client
	campaign   *campaign
	invariants []invariant
	seen       map[string]*seen // by foreign server, of the session
}

// seen is the newest state that a session has seen.
type seen struct {
	beats    [writers]int64
	position uint64 // 0: of none
}

const explains = "set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on; set auto_explain.log_timing = off; " +
	"set auto_explain.log_format = json; set auto_explain.log_level = notice; set auto_explain.log_nested_statements = on"

func (r *reader) run(ctx context.Context) error {
	for ctx.Err() == nil {
		fresh, err := r.connect(ctx, r.world.Local)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if fresh {
			r.seen = map[string]*seen{}
			for _, name := range servers {
				r.seen[name] = &seen{}
			}
			if r.world.plans {
				if err := r.exec(explains); err != nil {
					return err
				}
			}
		}
		before := r.world.disturbed.Load()
		err = r.transaction()
		if err != nil && !r.s.Conn().IsClosed() && r.s.Conn().TxStatus() != 'I' {
			err = errors.Join(err, r.exec("rollback"))
		}
		if errors.Is(err, errHang) {
			return err
		}
		if err != nil {
			r.campaign.failed(err, before)
		}
	}
	return nil
}

// reading is a transaction that goes on.
type reading struct {
	server      string
	latest      bool
	same        bool // all statements see one state
	floor       [writers]int64
	first       *[writers]int64 // of the first statement
	fromMirrors bool            // it read mirrors only
	before      int64           // world.disturbed
}

// transaction runs one transaction of a random kind.
func (r *reader) transaction() error {
	x := &reading{server: one(r.Rand, servers...), latest: r.IntN(10) < 7, before: r.world.disturbed.Load(), floor: r.world.floor()}
	freshness := "latest"
	if !x.latest {
		freshness = one(r.Rand, "20s", "30s")
	}
	kind := r.IntN(20)
	if kind == 0 {
		return r.check(x)
	}
	isolation := "read committed"
	if kind < 9 {
		isolation, x.same = one(r.Rand, "repeatable read", "repeatable read", "serializable"), true
	}
	if err := r.exec(fmt.Sprintf("begin isolation level %s; set local search_path = %s; set local gpujoin.freshness = '%s'; set local gpujoin.debug_force = %s; set local max_parallel_workers_per_gather = %d",
		isolation, x.server, freshness, one(r.Rand, "on", "on", "off"), one(r.Rand, 0, 0, 2))); err != nil {
		return err
	}
	for range 1 + r.IntN(4) {
		if !x.same {
			x.floor = r.world.floor()
		}
		v := r.draw()
		err := r.statement(x, v)
		if v.direct && x.same && x.fromMirrors && harness.SQLState(err) == "55000" && strings.Contains(err.Error(), "cannot be read at the position of the transaction") {
			// The source's state at the position of mirrors is gone.
			r.campaign.refused()
			return r.exec("rollback")
		}
		if err != nil {
			return err
		}
	}
	return r.exec("commit")
}

// draw draws an invariant by its weight.
func (r *reader) draw() *invariant {
	total := 0
	for _, v := range r.invariants {
		total += v.weight
	}
	n := r.IntN(total)
	for i := range r.invariants {
		if n -= r.invariants[i].weight; n < 0 {
			return &r.invariants[i]
		}
	}
	return nil
}

// statement checks an invariant, together with the beats of the same statement.
func (r *reader) statement(x *reading, v *invariant) error {
	sql := "select (select string_agg(w || ':' || n, ' ' order by w) from beats), x.* from (" + v.sql + ") x"
	way := r.IntN(10)
	_ = r.s.Notices()
	var got *harness.Result
	var err error
	switch way {
	case 0: // a cursor that is read in pieces
		if err = r.exec("declare c no scroll cursor for " + sql); err == nil {
			got, err = r.query("fetch all from c")
		}
		if err == nil {
			err = r.exec("close c")
		}
	case 1:
		if err = r.exec("prepare p as " + sql); err == nil {
			got, err = r.query("execute p")
			err = errors.Join(err, r.deallocate())
		}
	default:
		got, err = r.query(sql)
	}
	if err != nil {
		return fmt.Errorf("%s, %s: %w", x.server, v.name, err)
	}
	var p foreign.Plan
	if r.world.plans {
		p = foreign.PlansOf(r.s.Notices())
	} else if x.same {
		if p, err = r.explained(sql); err != nil {
			return err
		}
	}
	r.judge(x, v, got, p)
	return nil
}

// deallocate drops the prepared statement, also in a transaction that has failed: there, it
// is dropped after it.
func (r *reader) deallocate() error {
	if r.s.Conn().IsClosed() {
		return nil
	}
	if r.s.Conn().TxStatus() == 'E' {
		return errors.Join(r.exec("rollback"), r.exec("deallocate p"))
	}
	return r.exec("deallocate p")
}

// explained returns the plan of a statement that a server without auto_explain ran, which
// sees the same state.
func (r *reader) explained(sql string) (p foreign.Plan, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	node, err := r.s.Explain(ctx, "analyze, timing off", sql)
	if err == nil {
		p.Add(node)
	}
	return p, err
}

// judge compares what a statement returned with what it must have seen.
func (r *reader) judge(x *reading, v *invariant, got *harness.Result, p foreign.Plan) {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	state := r.seen[x.server]
	if len(got.Rows) != 1 {
		say("%d rows", len(got.Rows))
	} else {
		text, values, _ := strings.Cut(got.Rows[0], "\t")
		beats, err := parseBeats(text)
		if err != nil {
			say("%v", err)
		}
		if values != v.want {
			say("%q instead of %q", values, v.want)
		}
		for i, n := range beats {
			if n < state.beats[i] {
				say("writer %d was seen at %d before, now at %d", i+1, state.beats[i], n)
			}
			if x.latest && n < x.floor[i] {
				say("writer %d had committed %d, and is seen at %d", i+1, x.floor[i], n)
			}
		}
		if x.same && x.first != nil && beats != *x.first {
			say("two states in one transaction: %v and %v", *x.first, beats)
		}
		if x.first == nil {
			x.fromMirrors = p.Direct == 0
		}
		x.first, state.beats = &beats, beats
	}
	if p.Position != 0 {
		if p.Position < state.position {
			say("the position went back from %X to %X", state.position, p.Position)
		}
		state.position = p.Position
	}
	if p.Positions > 1 {
		say("%d positions in one statement", p.Positions)
	}
	if v.direct && p.Nodes != nil && p.Direct == 0 {
		say("the table without a key is not read directly")
	}
	r.campaign.add(v, p, x.server, wrong)
}

func parseBeats(text string) (beats [writers]int64, err error) {
	fields := strings.Fields(text)
	if len(fields) != writers {
		return beats, fmt.Errorf("%d writers in %q", len(fields), text)
	}
	for i, f := range fields {
		var w int
		if _, err := fmt.Sscanf(f, "%d:%d", &w, &beats[i]); err != nil || w != i+1 {
			return beats, fmt.Errorf("beats %q", text)
		}
	}
	return beats, nil
}

// check compares a mirror with its table while both change.
func (r *reader) check(x *reading) error {
	table := x.server + "." + one(r.Rand, mirrored...)
	got, err := r.query(fmt.Sprintf("select missing, extra, rows from gpujoin.check_mirror('%s')", table))
	if err != nil {
		return fmt.Errorf("check_mirror of %s: %w", table, err)
	}
	var wrong []string
	if len(got.Rows) != 1 || !strings.HasPrefix(got.Rows[0], "0\t0\t") {
		wrong = append(wrong, fmt.Sprintf("%q", got.Rows))
	}
	r.campaign.checked(table, wrong)
	return nil
}
