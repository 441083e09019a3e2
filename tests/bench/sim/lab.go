package sim

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
	"gpujoin/testsupport/sim"
)

// Rates that the figures assume besides the links'. A V100 has 900 GB/s of
// memory; a pass over rows reads and writes them, at two thirds of it.
const (
	passGBps  = 300 // partition pass, of rows
	scanGBps  = 600 // histogram, probe
	noteTime  = 2 * time.Microsecond
	farther   = 10 * time.Microsecond
	flowBytes = 512 << 20 // between each two GPUs, in the figures
)

// setup is what a simulation depends on.
type setup struct {
	gpus    string // of the DGX-1: "01234567"
	policy  string
	zipf    float64
	flow    int64
	packet  int64
	slots   int
	shared  bool
	central bool
	sync    time.Duration
	far     bool // copies between the sockets take longer than two over NVLink
}

// usual is the setup of most figures.
func usual(gpus, policy string) setup {
	d := exchange.Default()
	return setup{gpus: gpus, policy: policy, flow: flowBytes, packet: d.Packet, slots: d.Slots}
}

var policies = map[string]exchange.Policy{
	"adaptive": exchange.Adaptive{}, "bandwidth": sim.Bandwidth{}, "hops": sim.Hops{},
	"latency": sim.Latency{}, "direct": sim.Direct{},
}

var statics = []string{"bandwidth", "hops", "latency"}

// lab runs each simulation once, as many at a time as there are cores.
type lab struct {
	sync  time.Duration
	cores chan struct{}
	mu    sync.Mutex
	runs  map[setup]func() (*sim.Result, error)
}

func newLab(d time.Duration) *lab {
	return &lab{sync: d, cores: make(chan struct{}, runtime.GOMAXPROCS(0)), runs: map[setup]func() (*sim.Result, error){}}
}

// get returns the result of a simulation.
func (l *lab) get(s setup) (*sim.Result, error) {
	l.mu.Lock()
	run, ok := l.runs[s]
	if !ok {
		run = sync.OnceValues(func() (*sim.Result, error) {
			l.cores <- struct{}{}
			defer func() { <-l.cores }()
			return s.run()
		})
		l.runs[s] = run
	}
	l.mu.Unlock()
	return run()
}

// gbps returns the throughputs of several simulations.
func (l *lab) gbps(of ...setup) ([]float64, error) {
	values, errs := make([]float64, len(of)), make([]error, len(of))
	var wait sync.WaitGroup
	for i, s := range of {
		wait.Go(func() {
			r, err := l.get(s)
			if errs[i] = err; err == nil {
				values[i] = r.GBps()
			}
		})
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", of[i], err)
		}
	}
	return values, nil
}

func (s setup) mesh() (*mesh.Mesh, error) {
	m, err := machines.Mesh("dgx1")
	if err != nil {
		return nil, err
	}
	var set []int
	for _, g := range s.gpus {
		set = append(set, int(g-'0'))
	}
	if s.far {
		for i := range m.Links {
			if m.Links[i].Kind == mesh.Socket {
				m.Links[i].Latency += farther
			}
		}
	}
	return m.Restrict(set)
}

func (s setup) traffic() [][]int64 { return sim.Zipf(len(s.gpus), s.flow, s.zipf) }

func (s setup) run() (*sim.Result, error) {
	m, err := s.mesh()
	if err != nil {
		return nil, err
	}
	c := exchange.Default()
	c.Policy, c.Packet, c.Slots, c.SharedRing, c.Central = policies[s.policy], s.packet, s.slots, s.shared, s.central
	o := sim.Options{Mesh: m, Config: c, Traffic: s.traffic(), Pass: passGBps, Note: noteTime, Sync: s.sync}
	if s.policy == "direct" {
		o.Pass = 0 // DPRJ does not overlap: its exchange begins after the pass
	}
	return sim.Run(o)
}

// bound is the throughput, in GB/s, that the tightest cut of a set allows.
func (s setup) bound() (float64, error) {
	m, err := s.mesh()
	if err != nil {
		return 0, err
	}
	var total float64
	traffic := make([][]float64, len(s.gpus))
	for from, row := range s.traffic() {
		traffic[from] = make([]float64, len(row))
		for to, bytes := range row {
			traffic[from][to] = float64(bytes)
			total += float64(bytes)
		}
	}
	_, seconds := m.Tightest(traffic)
	return total / seconds / 1e9, nil
}
