package multi

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// coordinator is a plan under way.
type coordinator struct {
	ctx    context.Context
	p      *Provider
	plan   *joincore.Checked
	schema joincore.Schema
	inputs []*joincore.Relation
	mem    joincore.Memory
	opt    exec.Options
	seed   uint64 // of the partitions of two inputs

	stats      joincore.Stats        // so far
	number     map[joincore.Node]int // of joins, and of aggregates, each by themselves
	divided    []int                 // the inputs whose rows are divided
	sharedJoin []any                 // what members get that partition two inputs together; nil: they do not
	meeting    *meetingJoin          // at which members meet; nil: they do not
	failed     atomic.Int32          // the member that has failed, if one has

	tables []*table // those that exist
}

func newCoordinator(ctx context.Context, p *Provider, plan *joincore.Checked,
	inputs []*joincore.Relation, mem joincore.Memory, opt exec.Options) *coordinator {
	x := &coordinator{ctx: ctx, p: p, plan: plan, schema: plan.Schema(), inputs: inputs, mem: mem, opt: opt, number: map[joincore.Node]int{}}
	if x.seed = opt.Device.Seed; x.seed == 0 { // random, so that users cannot construct colliding keys
		x.seed = rand.Uint64()
	}
	joins, aggregates := joincore.Joins(plan.Root), joincore.Aggregates(plan.Root)
	for i, n := range joins {
		x.number[n] = i
	}
	for i, n := range aggregates {
		x.number[n] = i
	}
	x.stats = joincore.Stats{
		Provider: p.Name(), Devices: len(p.members),
		Joins: make([]joincore.JoinStats, len(joins)), Aggregates: make([]joincore.AggregateStats, len(aggregates)),
	}
	return x
}

// close frees what an error has left.
func (x *coordinator) close() {
	for len(x.tables) > 0 {
		x.tables[len(x.tables)-1].free()
	}
}

func (x *coordinator) members() int { return len(x.p.members) }

// divides reports whether a node has rows of an input that the members divide.
func (x *coordinator) divides(n joincore.Node) bool {
	return slices.ContainsFunc(x.divided, func(input int) bool { return joincore.Scans(n, input) })
}

// each calls f for each member at the same time. The first error ends the others'
// context, and is returned.
func (x *coordinator) each(f func(ctx context.Context, member int) error) error {
	return device.Workers(x.ctx, x.members(), func(ctx context.Context, m int) error {
		failed := true
		defer func() { // also after a panic
			if failed && ctx.Err() == nil {
				x.failed.Store(int32(m))
			}
		}()
		err := f(ctx, m)
		failed = err != nil
		return err
	})
}

// table is the rows of a node of the plan, divided among the members.
type table struct {
	x    *coordinator
	refs []joincore.ColumnRef // the columns, as the plan calls them
	// derived says that columns of 16 bytes are integers.
	derived bool
	// same says that all members have the same rows.
	same    bool
	parts   []*joincore.Relation // by member
	release func()
}

// newTable makes a table of columns of the plan. release frees its rows.
func (x *coordinator) newTable(refs []joincore.ColumnRef, parts []*joincore.Relation, release func()) *table {
	t := &table{x: x, refs: refs, parts: parts, release: release}
	for _, c := range refs {
		t.derived = t.derived || x.plan.Derived(c.Input)
	}
	x.tables = append(x.tables, t)
	return t
}

// free frees the rows.
func (t *table) free() {
	t.x.tables = slices.DeleteFunc(t.x.tables, func(o *table) bool { return o == t })
	t.release()
}

// columns describes the table's columns.
func (t *table) columns() []joincore.Column {
	out := make([]joincore.Column, len(t.refs))
	for i, c := range t.refs {
		out[i] = t.x.schema.Column(c)
	}
	return out
}

// first moves all rows to the first member.
func (t *table) first() {
	all := &joincore.Relation{Columns: t.parts[0].Columns}
	for m, r := range t.parts {
		all.Segments = append(all.Segments, r.Segments...)
		t.parts[m] = &joincore.Relation{Columns: r.Columns}
	}
	t.parts[0] = all
}

// rows returns the number of rows of all members; those that they have in common count
// for each of them.
func (t *table) rows() (n int64) {
	for _, r := range t.parts {
		n += r.Rows()
	}
	return n
}
