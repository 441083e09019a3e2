package child

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

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
// as many as it holds twice, and make one table with them, of at most as many build rows as they hold unless the host has
// the rest.
type exchanging struct{ dividing }

func (e exchanging) Meets(members []device.Provider, x *device.Exchange) error {
	if n := x.Rows[x.Build].Rows(); x.Spread && !x.Hosted && n > e.rows*int64(len(members)) {
		return fmt.Errorf("a table of %d rows: %w", n, joincore.ErrBudget)
	}
	if n := x.Rows[0].Rows() + x.Rows[1].Rows(); !x.Spread && n > 2*e.rows*int64(len(members)) {
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
	const auto, alone, replicate, divide, exchange, spread, hybrid = costmodel.Auto, costmodel.Alone, costmodel.Replicate, costmodel.Divide, costmodel.Exchange, costmodel.Spread, costmodel.Hybrid
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
		{auto, true, joincore.Inner, mostRows + 1, 0, 3, exchange, ""},
		{auto, true, joincore.Left, mostRows + 1, 0, 3, divide, ""},
		{auto, true, joincore.Inner, 4 * mostRows, 0, 3, divide, ""},
		{auto, false, joincore.Inner, mostRows + 1, 0, 1, alone, ""},
		{alone, true, joincore.Inner, mostRows + 1, 0, 1, alone, ""},
		{replicate, true, joincore.Inner, 1000, 0, 3, replicate, ""},
		{replicate, true, joincore.Inner, 1000, 2, 2, replicate, ""},
		{replicate, true, joincore.Inner, 1000, 1, 1, alone, "not replicate: the job has one device"},
		{replicate, true, joincore.Full, 1000, 0, 1, alone, "not replicate: no input can be divided among devices"},
		{replicate, true, joincore.Inner, mostRows + 1, 0, 3, exchange, "not replicate: a device has too little memory for the other inputs"},
		{divide, true, joincore.Inner, 1000, 0, 3, divide, ""},
		{divide, true, joincore.Full, 1000, 0, 3, divide, ""},
		{divide, false, joincore.Inner, 1000, 0, 1, alone, "not divide: devices do not partition inputs together"},
		{divide, false, joincore.Inner, 100_000_000, 0, 3, replicate, "not divide: devices do not partition inputs together"},
		{exchange, true, joincore.Inner, 1000, 0, 3, exchange, ""},
		{exchange, true, joincore.Inner, mostRows + 1, 0, 3, exchange, ""},
		{exchange, true, joincore.Inner, 1000, 1, 1, alone, "not exchange: the job has one device"},
		{exchange, true, joincore.Left, 1000, 0, 1, alone, "not exchange: no inner join of two inputs by integers of at most 8 bytes can be divided among devices"},
		{exchange, true, joincore.Inner, 4 * mostRows, 0, 3, divide, fmt.Sprintf("not exchange: %d rows: %v", 8*int64(mostRows), joincore.ErrBudget)},
		{exchange, false, joincore.Inner, 100_000_000, 0, 3, replicate, "not exchange: devices exchange no rows"},
		{spread, true, joincore.Inner, 1000, 0, 3, spread, ""},
		{spread, true, joincore.Inner, 1000, 2, 2, spread, ""},
		{spread, true, joincore.Inner, mostRows + 1, 0, 3, spread, ""},
		{spread, true, joincore.Inner, 1000, 1, 1, alone, "not spread: the job has one device"},
		{spread, true, joincore.Left, 1000, 0, 1, alone, "not spread: no inner join of two inputs by integers of at most 8 bytes can be divided among devices"},
		{spread, true, joincore.Inner, 4 * mostRows, 0, 3, divide, fmt.Sprintf("not spread: a table of %d rows: %v", 4*int64(mostRows), joincore.ErrBudget)},
		{spread, false, joincore.Inner, 100_000_000, 0, 3, replicate, "not spread: devices make no table together"},
		{hybrid, true, joincore.Inner, 1000, 0, 3, hybrid, ""},
		{hybrid, true, joincore.Inner, 4 * mostRows, 0, 3, hybrid, ""},
		{hybrid, true, joincore.Inner, 4 * mostRows, 1, 1, hybrid, ""},
		{hybrid, true, joincore.Left, 1000, 1, 1, alone, "not hybrid: no inner join of two inputs by integers of at most 8 bytes can be divided among devices"},
		{hybrid, false, joincore.Inner, 1000, 1, 1, alone, "not hybrid: devices make no table together"},
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
		if len(got.devices) != c.devices || got.how != c.how || got.reason != c.reason || (got.ms > 0) != (got.how != divide) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestExchangeIsChosen: of joins that devices would partition through the host, those are exchanged
// of which that is predicted to take clearly less time: links between devices are faster than those to
// the host.
func TestExchangeIsChosen(t *testing.T) {
	slow := costmodel.DefaultDeviceRates
	slow.LinkInGB, slow.LinkOutGB = 12, 12
	for _, c := range []struct {
		rates  costmodel.DeviceRates
		peerGB float64
		rows   int
		how    costmodel.Strategy
	}{
		{costmodel.DefaultDeviceRates, 390, mostRows + 1, costmodel.Exchange},
		{costmodel.DefaultDeviceRates, 60, mostRows + 1, costmodel.Divide},
		{slow, 390, mostRows + 1, costmodel.Divide},                         // links to the host take most of the time of either
		{costmodel.DefaultDeviceRates, 0, mostRows + 1, costmodel.Divide},   // there are no links between devices
		{costmodel.DefaultDeviceRates, 390, 4 * mostRows, costmodel.Divide}, // devices do not hold their shares
		{costmodel.DefaultDeviceRates, 390, mostRows, costmodel.Replicate},  // each device holds the build side
	} {
		m, list := machine(2)
		m.Jobs = JobDevices{PeerGB: c.peerGB}
		for i := range m.Devices {
			m.Devices[i].Rates, m.Devices[i].Budget = &c.rates, 1<<40 // windows of both inputs stay
			m.Devices[i].Provider = exchanging{dividing{m.Devices[i].Provider.(holding)}}
		}
		plan, inputs := sizedPair(c.rows)
		plan.Root = &joincore.Aggregate{Child: plan.Root, ID: 2, Rows: 1, Functions: []joincore.Function{{Kind: joincore.Sum, Arg: plan.Output[0]}, {Kind: joincore.Sum, Arg: plan.Output[1]}}}
		plan.Output = []joincore.ColumnRef{{Input: 2}, {Input: 2, Column: 1}}
		if got := m.choose(suite.Checked(t, plan), inputs, list); got.how != c.how || len(got.devices) != 2 {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestExchangeOfLargeInputs: of a plan of several joins, whose inputs devices do not partition, the rows of one join are
// exchanged where no device holds its build side and the other inputs. Where each does, its build side is replicated.
func TestExchangeOfLargeInputs(t *testing.T) {
	for _, c := range []struct {
		peerGB     float64
		rows, most int
		devices    int
		how        costmodel.Strategy
	}{
		{390, mostRows / 4, 0, 2, costmodel.Replicate},
		{390, mostRows + 1, 0, 4, costmodel.Exchange},
		{390, mostRows + 1, 2, 2, costmodel.Exchange},
		{390, mostRows + 1, 1, 1, costmodel.Alone},
		{0, mostRows + 1, 0, 1, costmodel.Alone},
		{390, 3 * mostRows, 2, 1, costmodel.Alone}, // two devices do not hold the rows
		{390, 3 * mostRows, 0, 4, costmodel.Exchange},
	} {
		m, list := machine(4)
		m.Jobs = JobDevices{PeerGB: c.peerGB, Most: c.most}
		for i := range m.Devices {
			m.Devices[i].Provider = exchanging{dividing{m.Devices[i].Provider.(holding)}}
		}
		plan, inputs := sizedPair(c.rows)
		few := &joincore.Relation{Columns: inputs[0].Columns, Segments: []joincore.Segment{{Rows: 1000, Columns: make([]joincore.Vector, 2)}}}
		inputs = append(inputs, few)
		plan.Inputs = append(plan.Inputs, joincore.Input{Columns: few.Columns})
		plan.Root = &joincore.Join{
			Kind: joincore.Inner, Left: plan.Root, Right: &joincore.Scan{Input: 2},
			Keys: []joincore.KeyPair{{Right: joincore.ColumnRef{Input: 2}, Class: joincore.KeyInt}},
		}
		if got := m.choose(suite.Checked(t, plan), inputs, list); got.how != c.how || len(got.devices) != c.devices {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestPredictedMeetings: the prediction is that of the strategy, and needs the rate of the links where devices meet.
func TestPredictedMeetings(t *testing.T) {
	unchecked, inputs := sizedPair(100_000_000)
	plan := suite.Checked(t, unchecked)
	ms := map[costmodel.Strategy]float64{}
	for _, how := range []costmodel.Strategy{costmodel.Alone, costmodel.Replicate, costmodel.Exchange, costmodel.Spread, costmodel.Hybrid} {
		for _, peerGB := range []float64{390, 0} {
			m, list := machine(2)
			for i := range m.Devices {
				m.Devices[i].Provider = exchanging{dividing{m.Devices[i].Provider.(holding)}}
			}
			m.Jobs = JobDevices{Strategy: how, PeerGB: peerGB}
			got := m.choose(plan, inputs, list)
			if got.how != how || (got.ms > 0) != (how < costmodel.Exchange || peerGB > 0) {
				t.Errorf("%v, %v GB/s: %+v", how, peerGB, got)
			}
			if peerGB > 0 {
				ms[how] = got.ms
			}
		}
	}
	if ms[costmodel.Replicate] >= ms[costmodel.Alone] || ms[costmodel.Exchange] >= ms[costmodel.Alone] || ms[costmodel.Replicate] == ms[costmodel.Exchange] || ms[costmodel.Spread] >= ms[costmodel.Alone] || ms[costmodel.Spread] == ms[costmodel.Exchange] {
		t.Errorf("%v", ms)
	}
}

// TestExecutedStrategy: a job that one device has executed was executed alone. What was predicted for a strategy
// is not said of another one, nor of fewer devices.
func TestExecutedStrategy(t *testing.T) {
	const predicted = 3 * time.Millisecond
	for _, c := range []struct {
		members, chosen int
		how             costmodel.Strategy
		executed        string // as package multi says; "": it was not asked
		strategy        string
		predicted       time.Duration
	}{
		{1, 1, costmodel.Alone, "", "alone", predicted},
		{1, 2, costmodel.Replicate, "", "alone", 0},
		{2, 2, costmodel.Exchange, "exchange", "exchange", predicted},
		{2, 2, costmodel.Exchange, "alone", "alone", 0},
		{2, 2, costmodel.Spread, "spread", "spread", predicted},
		{1, 1, costmodel.Hybrid, "hybrid", "hybrid", predicted},
		{1, 1, costmodel.Hybrid, "alone", "alone", 0},
		{1, 2, costmodel.Hybrid, "hybrid", "hybrid", 0},
		{2, 3, costmodel.Replicate, "replicate", "replicate", 0},
	} {
		stats := joincore.Stats{Strategy: c.executed}
		job := &team{members: make([]device.Provider, c.members), choice: choice{devices: make([]int, c.chosen), how: c.how, ms: 3, reason: "why"}}
		job.note(&stats)
		if stats.Strategy != c.strategy || stats.Predicted != c.predicted || stats.StrategyReason != "why" {
			t.Errorf("%+v: %+v", c, stats)
		}
	}
}

// TestTextsThatMeet: what is chosen is the same if texts of both sides are returned: their rows take ids along.
func TestTextsThatMeet(t *testing.T) {
	for name, c := range map[string]struct {
		times  int // as many rows as the right input has the left one
		budget int64
		want   costmodel.Strategy
	}{
		"a long probe side": {8, 0, costmodel.Spread},
		"equal inputs":      {1, 1 << 40, costmodel.Exchange},
	} {
		plan, inputs := sizedPair(mostRows + 1)
		inputs[0] = &joincore.Relation{Columns: inputs[0].Columns, Segments: slices.Repeat(inputs[0].Segments, c.times)}
		plan.Root = &joincore.Filter{Child: plan.Root, Predicate: &joincore.Compare{Op: joincore.Equal, Left: plan.Output[0], Right: joincore.Int(1)}}
		for i, r := range inputs {
			columns := append(slices.Clip(r.Columns), joincore.Column{Kind: joincore.Varlena, Align: 4})
			inputs[i] = &joincore.Relation{Columns: columns, Segments: slices.Clone(r.Segments)}
			for j := range inputs[i].Segments {
				inputs[i].Segments[j].Columns = make([]joincore.Vector, len(columns))
			}
			plan.Inputs[i].Columns = columns
			plan.Output = append(plan.Output, joincore.ColumnRef{Input: i, Column: len(columns) - 1})
		}
		m, list := machine(2)
		m.Jobs = JobDevices{PeerGB: 390}
		for i := range m.Devices {
			m.Devices[i].Provider = exchanging{dividing{m.Devices[i].Provider.(holding)}}
			m.Devices[i].Budget = c.budget
		}
		if got := m.choose(suite.Checked(t, plan), inputs, list); got.how != c.want || len(got.devices) != 2 || got.ms <= 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestOneTable: where the build side exceeds a device, devices make one table if that is predicted to take much less
// time than to partition both inputs through the memory of the host: not over slow links, nor where
// windows of both stay on the devices.
func TestOneTable(t *testing.T) {
	const spread, divide = costmodel.Spread, costmodel.Divide
	for name, c := range map[string]struct {
		peerGB float64
		budget int64
		most   int
		want   costmodel.Strategy
	}{
		"a long probe side":        {390, 0, 0, spread},
		"two devices":              {390, 0, 2, spread},
		"links of an unknown rate": {0, 0, 0, divide},
		"slow links":               {5, 0, 0, divide},
		"both inputs stay":         {60, 1 << 40, 0, divide},
	} {
		plan, inputs := sizedPair(mostRows + 1)
		inputs[0] = &joincore.Relation{Columns: inputs[0].Columns, Segments: slices.Repeat(inputs[0].Segments, 8)} // devices do not hold the rows of both
		m, list := machine(3)
		m.Jobs = JobDevices{Most: c.most, PeerGB: c.peerGB}
		for i := range m.Devices {
			m.Devices[i].Provider = exchanging{dividing{m.Devices[i].Provider.(holding)}}
			m.Devices[i].Budget = c.budget
		}
		if got := m.choose(suite.Checked(t, plan), inputs, list); got.how != c.want || len(got.devices) < 2 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
