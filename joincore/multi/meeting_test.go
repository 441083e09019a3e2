package multi_test

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/multi"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/separate"
	"gpujoin/testsupport/suite"
)

// hook is what bulk.Member calls at each moment of a meeting.
type hook func(ctx context.Context, when bulk.Moment, member int) error

// meetings are the strategies by which members meet at a join.
var meetings = []costmodel.Strategy{costmodel.Exchange, costmodel.Spread}

// meeting returns a provider whose members meet at joins. Each works with a device of a list.
func meeting[P device.Provider](how costmodel.Strategy, devices []P, h hook) *multi.Provider {
	var list []device.Provider
	for _, p := range devices {
		list = append(list, &bulk.Member{Provider: bulk.Provider{Inner: p}, Hook: h})
	}
	return multi.Together(list[0].Name(), list, how)
}

// apart returns devices with separate, poisoned memory, shared ones that work in that of the test.
func apart(members int) []*separate.Provider { return separate.New(cpu.New(), members) }
func shared(members int) []device.Provider {
	return slices.Repeat([]device.Provider{cpu.New()}, members)
}

// counting counts the meetings that take place.
func counting(n *atomic.Int64) hook {
	return func(_ context.Context, when bulk.Moment, _ int) error {
		if when == bulk.At {
			n.Add(1)
		}
		return nil
	}
}

// TestSuiteOfTeams runs the cases of every provider over members that meet where the plan can be
// executed so.
func TestSuiteOfTeams(t *testing.T) {
	for _, how := range meetings {
		t.Run(how.String(), func(t *testing.T) { suiteOfTeams(t, how) })
	}
}

// One member executes plans like several, and then aggregates need not be mergeable.
func TestSuiteOfOneMember(t *testing.T) {
	var met atomic.Int64
	s := suite.Subject{Algorithms: []joincore.Algorithm{joincore.NPJ, joincore.PHJUM, joincore.SMJUM}, Thin: 20, Provider: meeting(costmodel.Hybrid, apart(1), counting(&met)), Copies: true}
	suite.All(t, s)
	if met.Load() == 0 {
		t.Error("the member has made no table")
	}
	inputs := []*joincore.Relation{suite.Keyed(30, func(row int) uint64 { return uint64(row) }), suite.Keyed(60, func(row int) uint64 { return uint64(row % 7) })}
	plan := suite.PairPlan(inputs[0], inputs[1])
	plan.Root = &joincore.Aggregate{Child: plan.Root, ID: 2, Functions: []joincore.Function{{Kind: joincore.Count, Distinct: true, Arg: joincore.ColumnRef{}}}}
	plan.Output = []joincore.ColumnRef{{Input: 2}}
	before := met.Load()
	stats := suite.Check(t, "distinct values", s.Provider, plan, inputs, 100, exec.Options{})
	if met.Load() != before+1 || stats.Strategy != costmodel.Hybrid.String() || stats.Alone != "" || stats.Devices != 1 || !strings.HasSuffix(stats.Joins[0].Algorithm, "+hybrid") {
		t.Errorf("%+v", stats)
	}
}

func suiteOfTeams(t *testing.T, how costmodel.Strategy) {
	subject := suite.Subject{Algorithms: []joincore.Algorithm{joincore.NPJ, joincore.PHJUM, joincore.SMJUM}, Thin: 40, Divides: true}
	for _, members := range []int{2, 3, 4, 8} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			var met atomic.Int64
			s := subject
			s.Provider, s.Offset = meeting(how, shared(members), counting(&met)), uint64(members)
			if members == 2 && how == costmodel.Exchange {
				suite.All(t, s)
			} else { // the longest parts would not show more: most plans have no join at which members meet
				for _, run := range append(everywhere, suite.Values, suite.Sink, suite.Cancel, suite.CorruptInput) {
					run(t, s)
				}
			}
			if met.Load() == 0 {
				t.Error("members have not met")
			}
		})
	}
	t.Run("separate", func(t *testing.T) {
		var met atomic.Int64
		s := subject
		s.Provider, s.Copies = meeting(how, apart(3), counting(&met)), true
		for _, run := range []part{suite.Matrix, suite.Trees, suite.Aggregates, suite.Sink} {
			run(t, s)
		}
		if met.Load() == 0 {
			t.Error("members have not met")
		}
	})
}

// Random trees of joins of all kinds, with filters and NULLs, of which many have a join at which
// members meet. Other inputs are read whole by all of them.
func TestTreesOfTeams(t *testing.T) {
	for _, how := range meetings {
		t.Run(how.String(), func(t *testing.T) { treesOfTeams(t, how, 2, 3, 8) })
	}
	t.Run("hybrid", func(t *testing.T) { treesOfTeams(t, costmodel.Hybrid, 1, 2) })
}

func treesOfTeams(t *testing.T, how costmodel.Strategy, sizes ...int) {
	for _, members := range sizes {
		met, trees := atomic.Int64{}, 0
		p := meeting(how, apart(members), counting(&met))
		for seed := range uint64(150) {
			plan, inputs := suite.RandomTree(seed, 2+int(seed%3))
			if plan = suite.Meetable(plan); len(plan.Output) == 0 {
				continue
			}
			trees++
			before := met.Load()
			stats := suite.Check(t, fmt.Sprintf("%d members, seed %d", members, seed), p, plan, inputs, 7, exec.Options{Device: device.Options{Streams: 2, EmitRows: 5}})
			together := met.Load() > before
			if together != (stats.Alone == "") || together != (stats.Devices == members) {
				t.Errorf("%d members, seed %d: %d meetings, %+v", members, seed, met.Load()-before, stats)
			}
		}
		if n := met.Load(); n < int64(trees/4) {
			t.Errorf("%d members: %d of %d trees had a meeting", members, n, trees)
		}
	}
}

// Members get the rows of a side that is small whole, where that saves bytes: these are as many as
// exchange.Assign says, and fewer than those of the other side, which stays.
func TestATeamCopiesSmallSides(t *testing.T) {
	for _, members := range []int{2, 3, 8} {
		for _, small := range []int{20, 600} {
			inputs := []*joincore.Relation{
				suite.Keyed(small, func(row int) uint64 { return uint64(row) }),
				suite.Keyed(800, func(row int) uint64 { return uint64(row % small) }),
			}
			plan := suite.PairPlan(inputs[0], inputs[1])
			var list []device.Provider
			var copied, assigned int64
			for _, p := range apart(members) {
				list = append(list, &bulk.Member{Provider: bulk.Provider{Inner: p}, Assigned: func(a *exchange.Assignment) {
					for _, bytes := range slices.Concat(a.Traffic...) {
						assigned += bytes
					}
					for _, sets := range slices.Concat(a.To[:]...) {
						if slices.ContainsFunc(sets, func(set uint64) bool { return bits.OnesCount64(set) > 1 }) {
							copied++
						}
					}
				}})
			}
			p := multi.Together(list[0].Name(), list, costmodel.Exchange)
			stats := suite.Check(t, fmt.Sprintf("%d members, %d rows", members, small), p, plan, inputs, 100, exec.Options{})
			if stats.Sent != assigned || (copied > 0) != (small == 20) || stats.Alone != "" {
				t.Errorf("%d members, %d rows: %d bytes sent, %d assigned, %d partitions copied, %+v", members, small, stats.Sent, assigned, copied, stats)
			}
			if most := int64(16 * 20 * members); small == 20 && (assigned == 0 || assigned > most) {
				t.Errorf("%d members: %d bytes for copies of %d rows", members, assigned, small)
			}
		}
	}
}

// Statistics are those of all rows, also of members without rows, and say how the join was done.
func TestStatsOfATeam(t *testing.T) {
	for _, how := range meetings {
		for _, rows := range []int{0, 3, 300} {
			plan, inputs := pair(rows)
			stats := suite.Check(t, fmt.Sprint(rows, " rows"), meeting(how, apart(4), nil), plan, inputs, 100, exec.Options{})
			j, sends := stats.Joins[0], rows > 0
			if stats.Strategy != how.String() || stats.Devices != 4 || stats.Alone != "" || stats.Met <= 0 || (stats.Sent > 0) != sends || (stats.Hops == 1) != sends || j.Devices != 4 || j.BuildRows != int64(rows) || j.ProbeRows != 2*int64(rows) || !strings.HasSuffix(j.Algorithm, "+"+how.String()) {
				t.Errorf("%v, %d rows: %+v", how, rows, stats)
			}
		}
	}
}

// Groups of the rows that members get are merged; a join above reads its other input whole.
func TestStepsAboveAMeeting(t *testing.T) {
	plan, inputs := pair(300)
	third := suite.Keyed(50, func(row int) uint64 { return uint64(row) })
	inputs = append(inputs, third)
	plan.Inputs = append(plan.Inputs, joincore.Input{Columns: third.Columns})
	above := &joincore.Join{
		Kind: joincore.Left, Left: plan.Root, Right: &joincore.Scan{Input: 2},
		Keys: []joincore.KeyPair{{Left: joincore.ColumnRef{Input: 1, Column: 1}, Right: joincore.ColumnRef{Input: 2}, Class: joincore.KeyInt}},
	}
	groups := &joincore.Aggregate{
		Child: above, ID: 3, Keys: []joincore.Value{joincore.ColumnRef{Input: 2, Column: 1}},
		Functions: []joincore.Function{{Kind: joincore.Count}, {Kind: joincore.Sum, Arg: joincore.ColumnRef{Input: 0, Column: 1}}},
	}
	for _, c := range []struct {
		root   joincore.Node
		output []joincore.ColumnRef
	}{
		{above, append(slices.Clone(plan.Output), joincore.ColumnRef{Input: 2, Column: 1})},
		{groups, []joincore.ColumnRef{{Input: 3}, {Input: 3, Column: 1}, {Input: 3, Column: 2}}},
	} {
		own := *plan
		own.Root, own.Output = c.root, c.output
		for _, how := range meetings {
			var met atomic.Int64
			stats := suite.Check(t, fmt.Sprintf("%v, %T", how, c.root), meeting(how, apart(3), counting(&met)), &own, inputs, 100, exec.Options{})
			if met.Load() != 1 || stats.Alone != "" || len(stats.Joins) != 2 || stats.Joins[1].BuildRows != 50 {
				t.Errorf("%v, %T: %d meetings, %+v", how, c.root, met.Load(), stats)
			}
		}
	}
}

// Texts and values that are too wide to move are those of the rows that meet, wherever these were, and
// whatever reads them: of members with and without rows, and of rows that are alone in their segment.
func TestTextsOfATeam(t *testing.T) {
	for _, how := range meetings {
		for _, members := range []int{2, 3, 4, 8} {
			for _, rows := range [][3]int{{0, 7, 3}, {1, 1, 1}, {5, 3, 1}, {30, 200, 16}, {500, 250, 90}} {
				for _, m := range suite.Meetings(rows[0], rows[1], rows[2]) {
					var met atomic.Int64
					name := fmt.Sprintf("%v, %d members, %v rows, %s", how, members, rows, m.Name)
					stats := suite.Check(t, name, meeting(how, apart(members), counting(&met)), m.Plan, m.Inputs, 100, exec.Options{Device: device.Options{EmitRows: 40}})
					if met.Load() != 1 || stats.Alone != "" || stats.Devices != members {
						t.Errorf("%s: %d meetings, %+v", name, met.Load(), stats)
					}
				}
			}
		}
	}
}

// If a member fails before, at or after the meeting, one that executes the plan alone has the texts of all rows.
func TestTextsAfterATeamHasFailed(t *testing.T) {
	for _, how := range meetings {
		for _, moment := range []bulk.Moment{bulk.Before, bulk.At, bulk.After} {
			p := meeting(how, apart(3), func(_ context.Context, when bulk.Moment, member int) error {
				if when == moment && (member == 1 || when == bulk.At) {
					return joincore.ErrBudget
				}
				return nil
			})
			for _, m := range suite.Meetings(200, 300, 16) {
				stats := suite.Check(t, fmt.Sprintf("%v, moment %d, %s", how, moment, m.Name), p, m.Plan, m.Inputs, 100, exec.Options{})
				if stats.Alone == "" || stats.Devices != 0 {
					t.Errorf("%v, moment %d, %s: %+v", how, moment, m.Name, stats)
				}
			}
		}
	}
}

// If the members decide otherwise than is expected which side is the build side, rows of that side take
// their ids along.
func TestIDsOfTheBuildSide(t *testing.T) {
	for _, left := range []bool{false, true} {
		for _, m := range suite.Meetings(60, 60, 7) {
			opt := exec.Options{Decide: func(_ int, d costmodel.Decision) costmodel.Decision {
				d.BuildLeft = left
				return d
			}}
			suite.Check(t, fmt.Sprint(m.Name, left), meeting(costmodel.Spread, apart(3), nil), m.Plan, m.Inputs, 100, opt)
		}
	}
}

// watching is a member that notes the joins at which it is to meet others.
type watching struct {
	*bulk.Member
	seen *device.Exchange
}

func (w *watching) Meets(members []device.Provider, x *device.Exchange) error {
	w.seen = x
	return w.Member.Meets(members, x)
}

// Devices are told what is read of the rows after they have met, and what they will fetch by row id.
func TestWhatIsReadAfterAMeeting(t *testing.T) {
	type read struct{ columns, byID [2][]int }
	for name, want := range map[string]read{
		"both sides":                {columns: [2][]int{{0, 1, 2}, {0, 1, 2}}},
		"the left side":             {columns: [2][]int{{0, 2}, {0, 1}}},
		"filtered sides":            {columns: [2][]int{{0, 2}, {0, 2}}},
		"a filter above":            {columns: [2][]int{{0, 2}, {0, 1, 2}}},
		"a join by texts":           {[2][]int{{0, 2}, {0, 2}}, [2][]int{nil, {2}}},
		"a join by wide values":     {[2][]int{{0, 2, 3}, {0, 2}}, [2][]int{{3}, nil}},
		"groups that carry texts":   {columns: [2][]int{{0, 2, 3}, {0, 1}}},
		"groups that carry numbers": {[2][]int{{0, 2}, {0, 1}}, [2][]int{{0, 1}, nil}},
	} {
		list := suite.Meetings(10, 20, 5)
		m := list[slices.IndexFunc(list, func(m suite.Meeting) bool { return m.Name == name })]
		w := &watching{Member: &bulk.Member{}}
		if _, err := multi.Meeting([]device.Provider{w}, costmodel.Exchange, suite.Checked(t, m.Plan), m.Inputs); err != nil {
			t.Fatal(err)
		}
		for _, list := range slices.Concat(w.seen.Columns[:], w.seen.ByID[:]) {
			slices.Sort(list)
		}
		if got := (read{w.seen.Columns, w.seen.ByID}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// If a member fails before, at or after the meeting, no member is left behind, and one executes the
// plan alone; not if rows were returned, the rows are the cause, or a device is lost.
func TestAMemberOfATeamFails(t *testing.T) {
	for _, how := range meetings {
		t.Run(how.String(), func(t *testing.T) { aMemberFails(t, how) })
	}
}

// The only member executes the plan without a table if it has failed to make one.
func TestTheOnlyMemberFails(t *testing.T) {
	plan, inputs := pair(2000)
	for _, moment := range []bulk.Moment{bulk.Before, bulk.At, bulk.After} {
		failed := fmt.Errorf("the host: %w", joincore.ErrBudget)
		p := meeting(costmodel.Hybrid, apart(1), func(_ context.Context, m bulk.Moment, _ int) error {
			if m == moment {
				return failed
			}
			return nil
		})
		var stats joincore.Stats
		sink := suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<13)
		if err := suite.Run(t.Context(), p, plan, inputs, &suite.Arena{}, sink, exec.Options{}, &stats); err != nil || stats.RowsOut != 4000 || !strings.Contains(stats.Alone, failed.Error()) || stats.Strategy != "alone" {
			t.Errorf("moment %d: %v, %+v", moment, err, stats)
		}
	}
}

func aMemberFails(t *testing.T, how costmodel.Strategy) {
	plan, inputs := pair(2000)
	for when, moment := range map[string]bulk.Moment{"before": bulk.Before, "at": bulk.At, "after": bulk.After} {
		for name, c := range map[string]struct {
			err   error
			alone bool
		}{
			"memory":  {fmt.Errorf("device 1: %w", joincore.ErrBudget), true},
			"refused": {errors.New("the driver refuses"), true},
			"rows":    {joincore.ErrInvalid, false},
			"lost":    {&sticky{}, false},
		} {
			t.Run(when+"/"+name, func(t *testing.T) {
				for fails := range 3 {
					p := meeting(how, apart(3), func(_ context.Context, m bulk.Moment, member int) error {
						if m == moment && (member == fails || m == bulk.At) {
							return c.err
						}
						return nil
					})
					var stats joincore.Stats
					sink := suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<13)
					err := suite.Run(t.Context(), p, plan, inputs, &suite.Arena{}, sink, exec.Options{}, &stats)
					if c.alone != (err == nil) || err != nil && !errors.Is(err, c.err) {
						t.Fatalf("member %d: %v", fails, err)
					}
					if c.alone && (stats.RowsOut != 4000 || !strings.Contains(stats.Alone, c.err.Error()) || stats.Devices != 0) {
						t.Errorf("member %d: %+v", fails, stats)
					}
				}
			})
		}
	}
}

// sticky is the error of a device that is lost.
type sticky struct{}

func (*sticky) Error() string { return "the device is lost" }
func (*sticky) Sticky() bool  { return true }

// If the caller gives up while members wait for one that does not come, while one works for all,
// or after that, the plan ends with the caller's reason on all of them.
func TestATeamIsCancelled(t *testing.T) {
	for _, how := range meetings {
		t.Run(how.String(), func(t *testing.T) { aTeamIsCancelled(t, how) })
	}
}

func aTeamIsCancelled(t *testing.T, how costmodel.Strategy) {
	plan, inputs := pair(2000)
	for when, moment := range map[string]bulk.Moment{"before": bulk.Before, "at": bulk.At, "after": bulk.After} {
		t.Run(when, func(t *testing.T) {
			cause := errors.New("the caller gives up")
			ctx, stop := context.WithCancelCause(t.Context())
			p := meeting(how, apart(4), func(ctx context.Context, m bulk.Moment, member int) error {
				if m != moment || m != bulk.At && member != 2 {
					return nil
				}
				stop(cause)
				<-ctx.Done()
				return context.Cause(ctx)
			})
			var stats joincore.Stats
			sink := suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<13)
			if err := suite.Run(ctx, p, plan, inputs, &suite.Arena{}, sink, exec.Options{}, &stats); !errors.Is(err, cause) || stats.Alone != "" {
				t.Errorf("%v, %+v", err, stats)
			}
		})
	}
}

// refusing is a member that refuses to exchange rows of large joins.
type refusing struct {
	*bulk.Member
	most int64
}

func (r refusing) Meets(members []device.Provider, x *device.Exchange) error {
	if n := x.Rows[0].Rows() + x.Rows[1].Rows(); n > r.most {
		return fmt.Errorf("%d rows: %w", n, joincore.ErrBudget)
	}
	return r.Member.Meets(members, x)
}

// TestWhereMembersMeet: at an inner join of two inputs by exact keys, whatever later steps read of
// them; of several, at that of the largest inputs which the devices can execute.
func TestWhereMembersMeet(t *testing.T) {
	sizes := []int{100, 200, 400, 800}
	var inputs []*joincore.Relation
	plan := &joincore.Plan{}
	for _, n := range sizes {
		r := suite.Keyed(n, func(row int) uint64 { return uint64(row) })
		text := joincore.Column{Kind: joincore.Varlena, Align: 4}
		r.Columns = append(slices.Clone(r.Columns), text)
		for i := range r.Segments {
			r.Segments[i].Columns = append(r.Segments[i].Columns, joincore.Vector{Values: make([]byte, 4*(r.Segments[i].Rows+1))})
		}
		inputs = append(inputs, r)
		plan.Inputs = append(plan.Inputs, joincore.Input{Columns: r.Columns})
	}
	scan := func(i int) joincore.Node { return &joincore.Scan{Input: i} }
	join := func(kind joincore.Kind, left, right joincore.Node, l, r int) *joincore.Join {
		return &joincore.Join{Kind: kind, Left: left, Right: right, Keys: []joincore.KeyPair{{
			Left: joincore.ColumnRef{Input: l}, Right: joincore.ColumnRef{Input: r}, Class: joincore.KeyInt,
		}}}
	}
	inner := func(l, r int) *joincore.Join { return join(joincore.Inner, scan(l), scan(r), l, r) }
	filtered := func(n joincore.Node, column joincore.ColumnRef) joincore.Node {
		return &joincore.Filter{Child: n, Predicate: &joincore.Not{Arg: &joincore.IsNull{Arg: column}}}
	}
	wide := inner(0, 1)
	wide.Keys = append(wide.Keys, joincore.KeyPair{Left: joincore.ColumnRef{Column: 1}, Right: joincore.ColumnRef{Input: 1, Column: 1}, Class: joincore.KeyInt})
	residual := inner(0, 1)
	residual.Residual = &joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{Column: 1}, Right: joincore.ColumnRef{Input: 1, Column: 1}}
	bushy := join(joincore.Inner, inner(0, 1), inner(2, 3), 0, 2)
	sum := func(id int, child joincore.Node, a joincore.Aggregate) joincore.Node {
		a.Child, a.ID = child, id
		return &a
	}
	count := joincore.Aggregate{Functions: []joincore.Function{{Kind: joincore.Count}}}
	const text = 2
	none := [2]int{-1, -1}
	for name, c := range map[string]struct {
		root   joincore.Node
		output []joincore.ColumnRef
		most   int64 // rows of a join that devices exchange
		want   [2]int
	}{
		"pair":                         {inner(0, 1), nil, 5000, [2]int{0, 1}},
		"filtered sides":               {join(joincore.Inner, filtered(scan(0), joincore.ColumnRef{Column: text}), filtered(scan(1), joincore.ColumnRef{Input: 1}), 0, 1), nil, 5000, [2]int{0, 1}},
		"filter above":                 {filtered(inner(0, 1), joincore.ColumnRef{Column: 1}), nil, 5000, [2]int{0, 1}},
		"text above":                   {filtered(inner(0, 1), joincore.ColumnRef{Column: text}), nil, 5000, [2]int{0, 1}},
		"text returned":                {inner(0, 1), []joincore.ColumnRef{{Input: 1, Column: text}}, 5000, [2]int{0, 1}},
		"left":                         {join(joincore.Left, scan(0), scan(1), 0, 1), nil, 5000, none},
		"below a left":                 {join(joincore.Left, inner(0, 1), scan(2), 0, 2), nil, 5000, [2]int{0, 1}},
		"right of a left":              {join(joincore.Left, scan(2), inner(0, 1), 2, 0), nil, 5000, none},
		"below a full":                 {join(joincore.Full, inner(0, 1), scan(2), 0, 2), nil, 5000, none},
		"keys of 16 bytes":             {wide, nil, 5000, none},
		"residual":                     {residual, nil, 5000, none},
		"the largest":                  {bushy, nil, 5000, [2]int{2, 3}},
		"the largest that is possible": {bushy, nil, 1000, [2]int{0, 1}},
		"none is possible":             {bushy, nil, 10, none},
		"text of the largest":          {bushy, []joincore.ColumnRef{{Input: 3, Column: text}}, 5000, [2]int{2, 3}},
		"groups":                       {sum(2, inner(0, 1), count), []joincore.ColumnRef{{Input: 2}}, 5000, [2]int{0, 1}},
		"distinct": {sum(2, inner(0, 1), joincore.Aggregate{Functions: []joincore.Function{{Kind: joincore.Count, Distinct: true, Arg: joincore.ColumnRef{}}}}),
			[]joincore.ColumnRef{{Input: 2}}, 5000, none},
		"carried": {sum(2, inner(0, 1), joincore.Aggregate{Keys: []joincore.Value{joincore.ColumnRef{}}, Carry: []joincore.ColumnRef{{Column: 1}}}),
			[]joincore.ColumnRef{{Input: 2}, {Input: 2, Column: 1}}, 5000, [2]int{0, 1}},
		"join of groups": {join(joincore.Inner, sum(3, inner(0, 1), joincore.Aggregate{Keys: []joincore.Value{joincore.ColumnRef{}}}), scan(2), 3, 2), []joincore.ColumnRef{{Input: 2}}, 5000, none},
		"scan":           {scan(0), nil, 5000, none},
	} {
		own := &joincore.Plan{Root: c.root, Output: c.output}
		if own.Output == nil {
			own.Output = []joincore.ColumnRef{{Column: 1}}
		}
		n := 0
		for i := range inputs {
			if joincore.Scans(c.root, i) {
				n = i + 1
			}
		}
		own.Inputs = plan.Inputs[:n]
		got, err := multi.Meeting([]device.Provider{refusing{&bulk.Member{}, c.most}}, costmodel.Exchange, suite.Checked(t, own), inputs[:n])
		if (err != nil) != (c.want == none) || err == nil && got != c.want {
			t.Errorf("%s: inputs %v, %v", name, got, err)
		}
	}
	if _, err := multi.Meeting([]device.Provider{cpu.New()}, costmodel.Exchange, suite.Checked(t, &joincore.Plan{Root: inner(0, 1), Inputs: plan.Inputs[:2], Output: []joincore.ColumnRef{{}}}), inputs[:2]); !errors.Is(err, joincore.ErrUnsupported) {
		t.Errorf("devices that exchange nothing: %v", err)
	}
}
