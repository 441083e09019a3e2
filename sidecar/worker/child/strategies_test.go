package child

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/sidecar/worker/control"
	"gpujoin/testsupport/suite"
)

// linked is a device that exchanges rows with those whose memory it reaches.
type linked struct {
	exchanging
	number  int
	reaches []int
}

func (l linked) Meets(members []device.Provider, _ *device.Exchange) error {
	for _, p := range members {
		for _, q := range members {
			if p, q := p.(linked), q.(linked); p.number != q.number && !slices.Contains(p.reaches, q.number) {
				return fmt.Errorf("device %d does not access the memory of device %d: %w", p.number, q.number, joincore.ErrUnsupported)
			}
		}
	}
	return nil
}

// TestStrategies: by which strategies jobs on each device can be executed, and why not by others.
func TestStrategies(t *testing.T) {
	hold := func(int) device.Provider { return holding{cpu.New(), mostRows} }
	divide := func(int) device.Provider { return dividing{holding{cpu.New(), mostRows}} }
	exchange := func(int) device.Provider { return exchanging{dividing{holding{cpu.New(), mostRows}}} }
	link := func(reaches ...[]int) func(int) device.Provider {
		return func(d int) device.Provider {
			return linked{exchanging{dividing{holding{cpu.New(), mostRows}}}, d, reaches[d]}
		}
	}
	pairs := func(list []int, n int) []int { return []int{list[0], list[0] ^ 1}[:n] } // 0 with 1, 2 with 3
	const one, each = "there is one device", "each job has one device (cuda_devices)"
	for name, c := range map[string]struct {
		devices  int
		provider func(int) device.Provider
		jobs     JobDevices
		want     []string // of each device: why not replicate, divide, exchange, spread, hybrid; of all alike: once
	}{
		"one device":                      {1, exchange, JobDevices{}, []string{one + "|" + one + "|" + one + "|" + one + "|"}},
		"one that makes no table":         {1, divide, JobDevices{}, []string{one + "|" + one + "|" + one + "|" + one + "|devices make no table together"}},
		"jobs have one of two":            {2, exchange, JobDevices{Most: 1}, []string{each + "|" + each + "|" + each + "|" + each + "|"}},
		"two that only read whole inputs": {2, hold, JobDevices{}, []string{"|devices do not partition inputs together|devices exchange no rows|devices make no table together|devices make no table together"}},
		"two that partition":              {2, divide, JobDevices{}, []string{"||devices exchange no rows|devices make no table together|devices make no table together"}},
		"two that exchange":               {2, exchange, JobDevices{}, []string{"||||"}},
		"three that exchange":             {3, exchange, JobDevices{Most: 2}, []string{"||||"}},
		"no access between two":           {2, link(nil, nil), JobDevices{}, []string{"||device 0 does not access the memory of device 1|device 0 does not access the memory of device 1|device 0 does not access the memory of device 1", "||device 1 does not access the memory of device 0|device 1 does not access the memory of device 0|device 1 does not access the memory of device 0"}},
		"access in one direction":         {2, link([]int{1}, nil), JobDevices{}, []string{"||device 1 does not access the memory of device 0|device 1 does not access the memory of device 0|device 1 does not access the memory of device 0"}},
		"access in pairs, jobs of all": {4, link([]int{1}, []int{0}, []int{3}, []int{2}), JobDevices{}, []string{
			"||device 0 does not access the memory of device 2|device 0 does not access the memory of device 2|device 0 does not access the memory of device 2", "||device 1 does not access the memory of device 2|device 1 does not access the memory of device 2|device 1 does not access the memory of device 2",
			"||device 2 does not access the memory of device 0|device 2 does not access the memory of device 0|device 2 does not access the memory of device 0", "||device 3 does not access the memory of device 0|device 3 does not access the memory of device 0|device 3 does not access the memory of device 0",
		}},
		"access in pairs, jobs of two": {4, link([]int{1}, []int{0}, []int{3}, []int{2}), JobDevices{Most: 2, Best: pairs}, []string{"||||"}},
		"one that reaches no other":    {3, link([]int{1}, []int{0}, nil), JobDevices{Most: 2}, []string{"||||", "||||", "||device 2 does not access the memory of device 0|device 2 does not access the memory of device 0|device 2 does not access the memory of device 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &Machine{Jobs: c.jobs}
			for d := range c.devices {
				m.Devices = append(m.Devices, Device{Provider: c.provider(d)})
			}
			for d := range m.Devices {
				var names, reasons []string
				for _, s := range m.strategies(d) {
					names, reasons = append(names, s.GetName()), append(reasons, s.GetReason())
				}
				want := "|" + c.want[min(d, len(c.want)-1)] // always alone
				if got := strings.Join(reasons, "|"); !slices.Equal(names, []string{"alone", "replicate", "divide", "exchange", "spread", "hybrid"}) || got != want {
					t.Errorf("device %d: %v, %q, want %q", d, names, got, want)
				}
			}
		})
	}
}

// staged is a device whose rows pass through the memory of the host when it exchanges them, and that makes
// no table with others.
type staged struct{ exchanging }

const apart = "cuda_peer_access is off"

func (s staged) Meets(members []device.Provider, x *device.Exchange) error {
	if x.Spread {
		return fmt.Errorf("%s: %w", apart, joincore.ErrUnsupported)
	}
	return s.exchanging.Meets(members, x)
}

func (staged) Staged([]device.Provider) string { return apart }

// TestStrategiesThroughTheHost: an exchange through the memory of the host is possible, and a status says so.
// It is chosen if the rate of copies is known and it is predicted to be the fastest, and executed in any case
// where it is demanded; EXPLAIN says why.
func TestStrategiesThroughTheHost(t *testing.T) {
	unchecked, inputs := sizedPair(100_000_000)
	plan := suite.Checked(t, unchecked)
	for name, c := range map[string]struct {
		jobs JobDevices
		want costmodel.Strategy
	}{
		"demanded":                  {JobDevices{Strategy: costmodel.Exchange, StagedGB: 50}, costmodel.Exchange},
		"demanded, no rate":         {JobDevices{Strategy: costmodel.Exchange}, costmodel.Exchange},
		"the fastest":               {JobDevices{StagedGB: 50}, costmodel.Exchange},
		"not as fast as by halves":  {JobDevices{StagedGB: 1}, costmodel.Divide},
		"no rate":                   {JobDevices{}, costmodel.Divide},
		"a rate of other copies":    {JobDevices{PeerGB: 390}, costmodel.Divide},
		"another one is demanded":   {JobDevices{Strategy: costmodel.Divide, StagedGB: 50}, costmodel.Divide},
		"one that needs the access": {JobDevices{Strategy: costmodel.Spread, StagedGB: 50}, costmodel.Exchange},
	} {
		m := &Machine{Jobs: c.jobs}
		for range 2 { // each holds neither side
			m.Devices = append(m.Devices, Device{Provider: staged{exchanging{dividing{holding{cpu.New(), 99_000_000}}}}})
		}
		got := m.choose(plan, inputs, []int{0, 1})
		if got.how != c.want || (got.ms > 0) != (got.how == costmodel.Divide || c.jobs.StagedGB > 0) && got.how == costmodel.Exchange {
			t.Errorf("%s: %v, %.1f ms", name, got.how, got.ms)
		}
		if c.jobs.Strategy == costmodel.Spread && got.reason != "not spread: "+apart {
			t.Errorf("%s: %q", name, got.reason)
		}
		job := &team{members: m.providers(got.devices), choice: choice{how: got.how}}
		for executed, want := range map[string]string{got.how.String(): "", costmodel.Alone.String(): ""} {
			if executed == costmodel.Exchange.String() {
				want = "through host memory: " + apart
			}
			stats := joincore.Stats{Strategy: executed}
			if job.note(&stats); stats.StrategyReason != want {
				t.Errorf("%s: %q of a job that was executed by %s", name, stats.StrategyReason, executed)
			}
		}
		for _, s := range m.strategies(0) {
			want := ""
			if s.GetName() == costmodel.Exchange.String() {
				want = "through host memory: " + apart
			}
			how, err := costmodel.ParseStrategy(s.GetName())
			if err != nil || s.GetNote() != want || (s.GetReason() == apart) != how.OneTable() {
				t.Errorf("%s: %v", name, s)
			}
		}
	}
}

// transferring is a device with methods of transfer.
type transferring struct {
	device.Provider
	methods []device.TransferMethod
}

func (t transferring) TransferMethods() []device.TransferMethod { return t.methods }

// TestMethods: a status has the methods of transfer of those devices that have any.
func TestMethods(t *testing.T) {
	d := startDaemon(t, transferring{cpu.New(), []device.TransferMethod{{Name: "staged"}, {Name: "coherence", Reason: "why"}}}, slog.New(slog.DiscardHandler))
	reply, err := d.srv.Status(t.Context(), &control.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got := reply.GetDevices()[0].GetMethods(); len(got) != 2 || got[0].GetName() != "staged" || got[0].GetReason() != "" || got[1].GetName() != "coherence" || got[1].GetReason() != "why" {
		t.Errorf("%v", got)
	}
	m := &Machine{Devices: []Device{{Provider: cpu.New()}}}
	if got := m.methods(0); got != nil {
		t.Errorf("cores have %v", got)
	}
}

// TestReasonOfTransfers: why inputs were transferred otherwise than is demanded stands behind why the
// strategy is not the one that is.
func TestReasonOfTransfers(t *testing.T) {
	for _, c := range []struct{ strategy, transfer, want string }{
		{"", "", ""}, {"not divide: a", "", "not divide: a"}, {"", "not staged: b", "not staged: b"}, {"not divide: a", "not staged: b", "not divide: a; not staged: b"},
	} {
		job := &team{choice: choice{reason: c.strategy}}
		stats := joincore.Stats{StrategyReason: c.transfer}
		job.note(&stats)
		if stats.StrategyReason != c.want {
			t.Errorf("%+v: %q", c, stats.StrategyReason)
		}
	}
}
