package child

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/testsupport/suite"
)

// sizedPair is a join of inputs of some rows, whose values are not read.
func sizedPair(rows int) (*joincore.Plan, []*joincore.Relation) {
	columns := suite.Int64Columns(2)
	r := &joincore.Relation{Columns: columns, Segments: []joincore.Segment{{Rows: rows, Columns: make([]joincore.Vector, 2)}}}
	return suite.PairPlan(r, r), []*joincore.Relation{r, r}
}

// TestCount: a job gets more devices as far as they pay, and no more than are allowed.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		jobs       JobDevices
		rows, idle int
		want       int
	}{
		{JobDevices{PeerGB: 390}, 100_000_000, 1, 1},
		{JobDevices{PeerGB: 390}, 100_000_000, 2, 2},
		{JobDevices{PeerGB: 390}, 600_000_000, 4, 4},
		{JobDevices{PeerGB: 390, Most: 2}, 100_000_000, 4, 2},
		{JobDevices{PeerGB: 390, Most: 1}, 100_000_000, 4, 1},
		{JobDevices{PeerGB: 390}, 10_000, 4, 1},
		{JobDevices{PeerGB: 390}, mostRows + 1, 2, 1},
		{JobDevices{PeerGB: 390, Always: true}, 10_000, 4, 4},
	} {
		plan, inputs := sizedPair(c.rows)
		m, list := machine(c.idle)
		m.Jobs = c.jobs
		if n := len(m.choose(suite.Checked(t, plan), inputs, list).devices); n != c.want {
			t.Errorf("%+v, %d rows, %d idle: %d devices", c.jobs, c.rows, c.idle, n)
		}
		plan.Root.(*joincore.Join).Kind = joincore.Full
		if n := len(m.choose(suite.Checked(t, plan), inputs, list).devices); n != 1 {
			t.Errorf("a full join on %d devices", n)
		}
	}
}

// mostRows is how many rows of two columns of 8 bytes a device holds beside their partitions,
// with 72 GiB.
const mostRows = (72 << 30) / 16 * 9 / (16 + 24)

// holding is a device that holds build sides of some rows.
type holding struct {
	device.Provider
	rows int64
}

func (h holding) Exceeds(builds ...*joincore.Relation) bool {
	rows := int64(0)
	for _, r := range builds {
		rows += r.Rows()
	}
	return rows > h.rows
}

// dividing is one that can partition inputs together with others.
type dividing struct{ holding }

func (dividing) SharedJoin(members []device.Provider) []any { return make([]any, len(members)) }

// exchanging is one that can also exchange the rows of a join with others, if they are at most
// as many as it holds twice.
type exchanging struct{ dividing }

func (e exchanging) Exchanges(members []device.Provider, x *device.Exchange) error {
	if n := x.Rows[0].Rows() + x.Rows[1].Rows(); n > 2*e.rows*int64(len(members)) {
		return fmt.Errorf("%d rows: %w", n, joincore.ErrBudget)
	}
	return nil
}

func (exchanging) Team(members []device.Provider, _ *device.Exchange) []any {
	return make([]any, len(members))
}

// machine returns one with some devices, and their numbers.
func machine(devices int) (*Machine, []int) {
	m, list := &Machine{}, []int(nil)
	for i := range devices {
		m.Devices = append(m.Devices, Device{Provider: holding{cpu.New(), mostRows}, Jobs: 2})
		list = append(list, i)
	}
	return m, list
}

// TestChoice: each device is priced by its own rates, and those that are well connected come
// first.
func TestChoice(t *testing.T) {
	plan, inputs := sizedPair(100_000_000)
	m, list := machine(4)
	m.Jobs = JobDevices{PeerGB: 390, Most: 2, Best: func(list []int, n int) []int { return []int{list[0], list[len(list)-1]}[:n] }}
	if set := m.choose(suite.Checked(t, plan), inputs, list).devices; !slices.Equal(set, []int{0, 3}) {
		t.Errorf("devices %v", set)
	}
	slow := costmodel.DefaultDeviceRates
	slow.LinkInGB /= 10
	m.Devices[3].Rates = &slow
	if set := m.choose(suite.Checked(t, plan), inputs, list).devices; !slices.Equal(set, []int{0}) {
		t.Errorf("devices %v, of which the last one has a slow link", set)
	}
	if set := m.choose(suite.Checked(t, plan), inputs, []int{3, 0}).devices; !slices.Equal(set, []int{3, 0}) {
		t.Errorf("devices %v, of which the first one is slow", set)
	}
	m.Jobs.Best = func([]int, int) []int { return nil } // of an unknown mesh
	if set := m.choose(suite.Checked(t, plan), inputs, list).devices; !slices.Equal(set, []int{0, 1}) {
		t.Errorf("devices %v, in their order", set)
	}
}

// TestTeam: a job takes the devices that are idle, and gives them back.
func TestTeam(t *testing.T) {
	m := &Machine{Jobs: JobDevices{Always: true}}
	for range 4 {
		m.Devices = append(m.Devices, Device{Provider: cpu.New(), Jobs: 2})
	}
	s := newServer(m, slog.New(slog.DiscardHandler))
	plan, inputs := sizedPair(1000)
	if err := s.queues[2].enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.queues[0].enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	three := s.team(s.queues[0], suite.Checked(t, plan), inputs)
	if len(three.members) != 3 || three.members[0] != s.queues[0].Provider || s.queues[1].load() != 1 || s.queues[2].load() != 1 || s.queues[3].load() != 1 {
		t.Errorf("%d devices", len(three.members))
	}
	if err := s.queues[1].enter(t.Context()); err != nil { // a further job on a device of the team
		t.Fatal(err)
	}
	more := s.team(s.queues[1], suite.Checked(t, plan), inputs)
	if len(more.members) != 1 {
		t.Errorf("%d devices for the second job", len(more.members))
	}
	more.leave()
	three.leave()
	s.queues[1].leave()
	for i, want := range []int{1, 0, 1, 0} {
		if n := s.queues[i].load(); n != want {
			t.Errorf("device %d: %d jobs", i, n)
		}
	}
}

// TestForcedStrategy: the settings name a strategy, which jobs have that can be executed so.
// Others are executed as without it, and say why.
func TestForcedStrategy(t *testing.T) {
	const auto, alone, replicate, divide, exchange = costmodel.Auto, costmodel.Alone, costmodel.Replicate, costmodel.Divide, costmodel.Exchange
	for _, c := range []struct {
		forced     costmodel.Strategy
		partitions bool // devices can, and they exchange rows where that is demanded
		kind       joincore.Kind
		rows       int
		most       int
		devices    int
		how        costmodel.Strategy
		reason     string
	}{
		{auto, true, joincore.Inner, 1000, 0, 1, alone, ""},
		{auto, true, joincore.Inner, 100_000_000, 0, 3, replicate, ""},
		{auto, true, joincore.Inner, mostRows + 1, 0, 3, divide, ""},
		{auto, false, joincore.Inner, mostRows + 1, 0, 1, alone, ""},
		{alone, true, joincore.Inner, mostRows + 1, 0, 1, alone, ""},
		{replicate, true, joincore.Inner, 1000, 0, 3, replicate, ""},
		{replicate, true, joincore.Inner, 1000, 2, 2, replicate, ""},
		{replicate, true, joincore.Inner, 1000, 1, 1, alone, "strategy replicate: the job has one device"},
		{replicate, true, joincore.Full, 1000, 0, 1, alone, "strategy replicate: no input can be divided among devices"},
		{replicate, true, joincore.Inner, mostRows + 1, 0, 3, divide, "strategy replicate: a device has too little memory for the other inputs"},
		{divide, true, joincore.Inner, 1000, 0, 3, divide, ""},
		{divide, true, joincore.Full, 1000, 0, 3, divide, ""},
		{divide, false, joincore.Inner, 1000, 0, 1, alone, "strategy divide: devices partition one join of two inputs"},
		{divide, false, joincore.Inner, 100_000_000, 0, 3, replicate, "strategy divide: devices partition one join of two inputs"},
		{exchange, true, joincore.Inner, 1000, 0, 3, exchange, ""},
		{exchange, true, joincore.Inner, mostRows + 1, 0, 3, exchange, ""},
		{exchange, true, joincore.Inner, 1000, 1, 1, alone, "strategy exchange: the job has one device"},
		{exchange, true, joincore.Left, 1000, 0, 1, alone, "strategy exchange: no inner join of two inputs by integers of at most 8 bytes can be divided among devices: not supported"},
		{exchange, true, joincore.Inner, 4 * mostRows, 0, 3, divide, fmt.Sprintf("strategy exchange: %d rows: %v", 8*int64(mostRows), joincore.ErrBudget)},
		{exchange, false, joincore.Inner, 100_000_000, 0, 3, replicate, "strategy exchange: devices exchange no rows: not supported"},
	} {
		m, list := machine(3)
		m.Jobs = JobDevices{Strategy: c.forced, Most: c.most, PeerGB: 390}
		for i := range m.Devices {
			if h := m.Devices[i].Provider.(holding); c.partitions {
				m.Devices[i].Provider = exchanging{dividing{h}}
			}
		}
		plan, inputs := sizedPair(c.rows)
		plan.Root.(*joincore.Join).Kind = c.kind
		got := m.choose(suite.Checked(t, plan), inputs, list)
		if len(got.devices) != c.devices || got.how != c.how || got.reason != c.reason {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestReasonOfAnotherStrategy: the reason stands where EXPLAIN shows it.
func TestReasonOfAnotherStrategy(t *testing.T) {
	of := func(members int, reason string) joincore.Stats {
		stats := joincore.Stats{Joins: make([]joincore.JoinStats, 2)}
		(&team{members: make([]device.Provider, members), choice: choice{reason: reason}}).note(&stats)
		return stats
	}
	if one, more, none := of(1, "why"), of(2, "why"), of(2, ""); one.Alone != "why" || one.Joins[1].Reason != "" || more.Alone != "" || more.Joins[1].Reason != "why" || none.Joins[1].Reason != "" {
		t.Errorf("%+v, %+v, %+v", one, more, none)
	}
}
