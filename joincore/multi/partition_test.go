package multi_test

import (
	"context"
	"fmt"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/multi"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/suite"
)

// halved is a provider that partitions the inputs of joins of some size by their keys.
type halved struct {
	device.Provider
	most int64 // rows of a build side that fits
	fail error // of its executions that do so
}

func (h *halved) Exceeds(builds ...*joincore.Relation) bool {
	rows := int64(0)
	for _, r := range builds {
		rows += r.Rows()
	}
	return rows > h.most
}

func (h *halved) SharedJoin(members []device.Provider) []any { return bulk.Parts(len(members)) }

// asked counts how often inputs are partitioned.
type asked struct {
	*halved
	times *int
}

func (a *asked) SharedJoin(members []device.Provider) []any {
	*a.times++
	return a.halved.SharedJoin(members)
}

// Execute implements exec.Executor.
func (h *halved) Execute(ctx context.Context, plan *joincore.Checked, inputs []*joincore.Relation, mem joincore.Memory, sink joincore.Sink, opt exec.Options, stats *joincore.Stats) error {
	if h.fail != nil && opt.Device.Common.Partition != nil {
		return h.fail
	}
	own, err := bulk.Part(plan, inputs, opt.Device.Common)
	if err != nil {
		return err
	}
	opt.Device.Common = device.Common{}
	return exec.Run(ctx, h.Provider, plan, own, mem, sink, opt, stats)
}

// Members join partitions of two inputs that exceed each of them: all kinds of joins, under
// filters and aggregates, with all rows and statistics of the whole.
func TestPartitions(t *testing.T) {
	left := suite.Keyed(3000, func(row int) uint64 { return uint64(row) })
	right := suite.Keyed(2000, func(row int) uint64 { return uint64(row % 700 * 5) })
	inputs := []*joincore.Relation{left, right}
	for kind := joincore.Inner; kind <= joincore.Anti; kind++ {
		for _, counted := range []bool{false, true} {
			t.Run(fmt.Sprint(kind, counted), func(t *testing.T) {
				plan := suite.PairPlan(left, right)
				plan.Root.(*joincore.Join).Kind = kind
				if kind == joincore.Semi || kind == joincore.Anti {
					plan.Output = plan.Output[:1]
				}
				if counted {
					plan.Root = &joincore.Aggregate{Child: plan.Root, ID: 2, Functions: []joincore.Function{{Kind: joincore.Count}}}
					plan.Output = []joincore.ColumnRef{{Input: 2}}
				}
				p := replicated(3, func(int) device.Provider { return &halved{cpu.New(), 100, nil} })
				stats := suite.Check(t, "", p, plan, inputs, 100, exec.Options{})
				j := stats.Joins[0]
				if stats.Strategy != "divide" || stats.Devices != 3 || stats.Alone != "" || j.Devices != 3 || j.BuildRows+j.ProbeRows != 5000 {
					t.Errorf("%+v", stats)
				}
			})
		}
	}
}

// What fits a device is not partitioned; nor is a plan of several joins, or one with an
// aggregate that cannot be merged. If a member fails, another one joins alone.
func TestWhatIsPartitioned(t *testing.T) {
	plan, inputs := pair(1000)
	p := &halved{cpu.New(), 999, nil}
	join := plan.Root.(*joincore.Join)
	checked := suite.Checked(t, plan)
	if !multi.Partitions(p, checked, inputs) || multi.Partitions(&halved{cpu.New(), 1000, nil}, checked, inputs) || multi.Partitions(cpu.New(), checked, inputs) {
		t.Error("not by what exceeds a device")
	}
	key := []joincore.KeyPair{{Right: joincore.ColumnRef{Input: 2}, Class: joincore.KeyInt}}
	for _, c := range []struct {
		inputs int
		root   joincore.Node
	}{
		{3, &joincore.Join{Kind: joincore.Inner, Left: join, Right: &joincore.Scan{Input: 2}, Keys: key}},
		{2, &joincore.Aggregate{Child: join, ID: 2, Functions: []joincore.Function{{Kind: joincore.Count, Distinct: true, Arg: joincore.ColumnRef{}}}}},
		{2, &joincore.Join{Kind: joincore.Inner, Left: join.Left, Right: &joincore.Filter{Child: join.Right, Predicate: &joincore.And{}}, Keys: join.Keys}},
		{1, join.Left},
	} {
		other := &joincore.Plan{Root: c.root}
		for range c.inputs {
			other.Inputs = append(other.Inputs, plan.Inputs[0])
		}
		if multi.Partitions(p, suite.Checked(t, other), inputs) {
			t.Errorf("%T is partitioned", c.root)
		}
	}
	for smaller := range 2 { // one of two members has too little memory
		times := 0
		p := replicated(2, func(m int) device.Provider {
			h := &halved{cpu.New(), 1000, nil}
			if m == smaller {
				h.most = 999
			}
			return &asked{h, &times}
		})
		if stats := suite.Check(t, "", p, plan, inputs, 100, exec.Options{}); stats.Devices != 2 || times != 1 {
			t.Errorf("member %d has too little memory: partitioned %d times, %+v", smaller, times, stats)
		}
	}
	for _, c := range []struct {
		how  costmodel.Strategy
		most int64 // rows that a member holds
		root joincore.Node
		want int // how often inputs are partitioned
		one  bool
	}{
		{costmodel.Divide, 1000, join, 1, false},
		{costmodel.Replicate, 999, join, 0, false},
		{costmodel.Divide, 1000, &joincore.Filter{Child: join, Predicate: &joincore.And{}}, 1, false},
		{costmodel.Divide, 1000, &joincore.Join{
			Kind: joincore.Inner, Left: join.Left, Right: &joincore.Filter{Child: join.Right, Predicate: &joincore.And{}}, Keys: join.Keys,
		}, 0, true},
	} {
		times := 0
		members := []device.Provider{&asked{&halved{cpu.New(), c.most, nil}, &times}, &asked{&halved{cpu.New(), c.most, nil}, &times}}
		demanded := *plan
		demanded.Root = c.root
		stats := suite.Check(t, "", multi.Together("cpu", members, c.how), &demanded, inputs, 100, exec.Options{})
		if times != c.want || (stats.Alone != "") != c.one {
			t.Errorf("%v of a plan of %T: partitioned %d times, %+v", c.how, c.root, times, stats)
		}
	}
	failing := replicated(2, func(m int) device.Provider { return &halved{cpu.New(), 100, []error{nil, joincore.ErrBudget}[m]} })
	if stats := suite.Check(t, "", failing, plan, inputs, 100, exec.Options{}); stats.Alone == "" {
		t.Errorf("%+v", stats)
	}
}
