package multi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/multi"
	"gpujoin/testsupport/suite"
)

// replicated returns a provider whose members divide one input, or partition two.
func replicated(n int, member func(i int) device.Provider) *multi.Provider {
	var members []device.Provider
	for i := range n {
		members = append(members, member(i))
	}
	return multi.Together(members[0].Name(), members, costmodel.Auto)
}

// TestReplicate runs the cases of every provider over members that divide one input and
// read the others whole.
func TestReplicate(t *testing.T) {
	for n, more := range map[int][]part{
		2: {suite.Skew, suite.Values, suite.AggregateTrees, suite.Forced},
		3: {suite.Allocations, suite.Sink, suite.Cancel, suite.CorruptInput, suite.RowTooWide, suite.Tile},
		4: {suite.AggregateValues, suite.MadeTexts},
		8: {suite.AggregateTrees},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := suite.Subject{
				Provider: replicated(n, cores), Algorithms: joincore.Algorithms[:], Thin: 40, Offset: uint64(n), Copies: true, Divides: true,
			}
			for _, run := range append(everywhere, more...) {
				run(t, s)
			}
		})
	}
}

// pair returns a join of n rows with 2n rows, each of which finds one partner.
func pair(n int) (*joincore.Plan, []*joincore.Relation) {
	small := suite.Keyed(n, func(row int) uint64 { return uint64(row) })
	large := suite.Keyed(2*n, func(row int) uint64 { return uint64(row % n) })
	return suite.PairPlan(small, large), []*joincore.Relation{small, large}
}

// The larger input is divided, unless its rows have to be on one member.
func TestDivide(t *testing.T) {
	plan, inputs := pair(1000)
	plan.Output = nil
	join := plan.Root.(*joincore.Join)
	count := &joincore.Aggregate{Child: join, ID: 2, Functions: []joincore.Function{{Kind: joincore.Count}}}
	distinct := &joincore.Aggregate{Child: join, ID: 2, Functions: []joincore.Function{{Kind: joincore.Count, Distinct: true, Arg: joincore.ColumnRef{}}}}
	for _, c := range []struct {
		kind  joincore.Kind
		root  joincore.Node
		input int
		ok    bool
	}{
		{joincore.Inner, join, 1, true},
		{joincore.Right, join, 1, true},
		{joincore.Left, join, 0, true},
		{joincore.Semi, join, 0, true},
		{joincore.Anti, join, 0, true},
		{joincore.Full, join, 0, false},
		{joincore.Inner, count, 1, true},
		{joincore.Inner, distinct, 0, false},
	} {
		join.Kind, plan.Root = c.kind, c.root
		if input, ok := multi.Divide(suite.Checked(t, plan), inputs); input != c.input && ok || ok != c.ok {
			t.Errorf("%v under %T: input %d, %v", c.kind, c.root, input, ok)
		}
	}
}

// Statistics say that several devices worked, and count common rows once.
func TestReplicatedStats(t *testing.T) {
	plan, inputs := pair(5000)
	var stats joincore.Stats
	sink := suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<13)
	if err := suite.Run(t.Context(), replicated(3, cores), plan, inputs, &suite.Arena{}, sink, exec.Options{}, &stats); err != nil {
		t.Fatal(err)
	}
	j := stats.Joins[0]
	if stats.Strategy != "replicate" || stats.Devices != 3 || stats.Alone != "" || j.Devices != 3 || j.BuildRows != 5000 || j.ProbeRows != 10000 || j.RowsOut != 10000 || !j.BuildLeft {
		t.Errorf("%+v", stats)
	}
}

// broken is a provider that fails once it is opened.
type broken struct {
	device.Provider
	err  error
	lost bool
}

func (b *broken) Open(joincore.Memory, device.Options) (device.Device, error) { return nil, b.err }
func (b *broken) Lost() error {
	if b.lost {
		return b.err
	}
	return nil
}

// If one member fails before a row is returned, another one executes the plan alone; not if a device is lost, which ends the process, or if the rows are the cause.
func TestAMemberFails(t *testing.T) {
	plan, inputs := pair(5000)
	for name, c := range map[string]struct {
		err   error
		lost  bool
		other bool // the other member fails as well
		alone bool
	}{
		"memory":     {err: fmt.Errorf("device 1: %w", joincore.ErrBudget), alone: true},
		"refused":    {err: errors.New("the driver refuses"), alone: true},
		"lost":       {err: errors.New("an illegal address"), lost: true},
		"rows":       {err: joincore.ErrInvalid},
		"both":       {err: joincore.ErrBudget, other: true},
		"cancelled":  {err: context.Canceled, alone: true}, // by the device, not by the caller
		"arithmetic": {err: joincore.ErrArithmetic},
	} {
		t.Run(name, func(t *testing.T) {
			for fails := range 2 {
				p := replicated(2, func(i int) device.Provider {
					if i == fails || c.other {
						return &broken{cpu.New(), c.err, c.lost}
					}
					return cpu.New()
				})
				var stats joincore.Stats
				sink := suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<13)
				err := suite.Run(t.Context(), p, plan, inputs, &suite.Arena{}, sink, exec.Options{}, &stats)
				if c.alone != (err == nil) || err != nil && !errors.Is(err, c.err) {
					t.Fatal(err)
				}
				if c.alone && (stats.RowsOut != 10000 || !strings.Contains(stats.Alone, c.err.Error()) || stats.Strategy != "alone" || stats.Devices != 0) {
					t.Errorf("%+v", stats)
				}
			}
		})
	}
}
