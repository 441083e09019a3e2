package child

import (
	"log/slog"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
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
		{JobDevices{Memory: 72 << 30, PeerGB: 390}, 100_000_000, 1, 1},
		{JobDevices{Memory: 72 << 30, PeerGB: 390}, 100_000_000, 2, 2},
		{JobDevices{Memory: 72 << 30, PeerGB: 390}, 600_000_000, 4, 4},
		{JobDevices{Memory: 72 << 30, PeerGB: 390, Most: 2}, 100_000_000, 4, 2},
		{JobDevices{Memory: 72 << 30, PeerGB: 390, Most: 1}, 100_000_000, 4, 1},
		{JobDevices{Memory: 72 << 30, PeerGB: 390}, 10_000, 4, 1},
		{JobDevices{Memory: 8 << 30, PeerGB: 390}, 100_000_000, 2, 1},
		{JobDevices{Memory: 72 << 30, PeerGB: 390, Always: true}, 10_000, 4, 4},
	} {
		plan, inputs := sizedPair(c.rows)
		m, list := machine(c.idle)
		m.Jobs = c.jobs
		if n := len(m.choose(suite.Checked(t, plan), inputs, list)); n != c.want {
			t.Errorf("%+v, %d rows, %d idle: %d devices", c.jobs, c.rows, c.idle, n)
		}
		plan.Root.(*joincore.Join).Kind = joincore.Full
		if n := len(m.choose(suite.Checked(t, plan), inputs, list)); n != 1 {
			t.Errorf("a full join on %d devices", n)
		}
	}
}

// machine returns one with some devices, and their numbers.
func machine(devices int) (*Machine, []int) {
	m, list := &Machine{}, []int(nil)
	for i := range devices {
		m.Devices = append(m.Devices, Device{Provider: cpu.New(), Jobs: 2})
		list = append(list, i)
	}
	return m, list
}

// TestChoice: each device is priced by its own rates, and those that are well connected come
// first.
func TestChoice(t *testing.T) {
	plan, inputs := sizedPair(100_000_000)
	m, list := machine(4)
	m.Jobs = JobDevices{Memory: 72 << 30, PeerGB: 390, Most: 2, Best: func(list []int, n int) []int { return []int{list[0], list[len(list)-1]}[:n] }}
	if set := m.choose(suite.Checked(t, plan), inputs, list); !slices.Equal(set, []int{0, 3}) {
		t.Errorf("devices %v", set)
	}
	slow := costmodel.DefaultDeviceRates
	slow.LinkInGB /= 10
	m.Devices[3].Rates = &slow
	if set := m.choose(suite.Checked(t, plan), inputs, list); !slices.Equal(set, []int{0}) {
		t.Errorf("devices %v, of which the last one has a slow link", set)
	}
	if set := m.choose(suite.Checked(t, plan), inputs, []int{3, 0}); !slices.Equal(set, []int{3, 0}) {
		t.Errorf("devices %v, of which the first one is slow", set)
	}
	m.Jobs.Best = func([]int, int) []int { return nil } // of an unknown mesh
	if set := m.choose(suite.Checked(t, plan), inputs, list); !slices.Equal(set, []int{0, 1}) {
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
	team, leave := s.team(s.queues[0], suite.Checked(t, plan), inputs)
	if len(team) != 3 || team[0] != s.queues[0].Provider || s.queues[1].load() != 1 || s.queues[2].load() != 1 || s.queues[3].load() != 1 {
		t.Errorf("%d devices", len(team))
	}
	if err := s.queues[1].enter(t.Context()); err != nil { // a further job on a device of the team
		t.Fatal(err)
	}
	more, leaveMore := s.team(s.queues[1], suite.Checked(t, plan), inputs)
	if len(more) != 1 {
		t.Errorf("%d devices for the second job", len(more))
	}
	leaveMore()
	leave()
	s.queues[1].leave()
	for i, want := range []int{1, 0, 1, 0} {
		if n := s.queues[i].load(); n != want {
			t.Errorf("device %d: %d jobs", i, n)
		}
	}
}
