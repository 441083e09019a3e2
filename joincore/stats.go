package joincore

import (
	"cmp"
	"slices"
	"time"
)

// Stats describes an execution of a plan. Algorithms fill it in; nothing in joincore
// prints or logs.
type Stats struct {
	Provider string
	JoinTime time.Duration // without waiting for the sink
	RowsOut  int64
	BytesOut int64
	Peak     int64 // peak bytes of Memory in use
	Joins    []JoinStats
	// Aggregates are those of the tree, in post-order.
	Aggregates []AggregateStats

	// Of a plan that devices of a machine with several were to execute:
	Strategy       string        // by which devices have executed it, a costmodel.Strategy's name; "": it has none
	StrategyReason string        // why that is not the strategy that is demanded, or the method of transfers; "": it is, or none is
	Predicted      time.Duration // of JoinTime, by package costmodel, for that strategy; 0: not predicted
	Devices        int           // that have executed it together; 0: one, as always
	Alone          string        // why one device has executed it; "": several have
	Sent           int64         // bytes that devices have copied from each other, or read in each other's memory
	Hops           int           // links that each of these bytes has crossed
	Met            time.Duration // how long the first device at the join where they exchange rows waited for the last one
	Waited         time.Duration // how long the first device to finish waited for the last one
}

// AggregateStats describes one aggregate of the tree.
type AggregateStats struct {
	Strategy string // "one group", "hash" or "partitioned"
	RowsIn   int64
	Groups   int64
	Time     time.Duration
	Bytes    int64 // of memory for groups and for partitioned rows, at the highest
}

// JoinStats describes one join of the tree, in post-order.
type JoinStats struct {
	Algorithm string // Algorithm.String, or a provider's name of a variant
	Reason    string // why Plan.Algorithm did not execute the join; "": it did, or is 0
	Devices   int    // that have executed it together; 0: one
	BuildLeft bool
	Bits      int // radix bits of a partitioned join
	BuildRows int64
	ProbeRows int64
	RowsOut   int64
	Time      time.Duration
	Work      DeviceWork
	Phases    []Phase // in the order of execution
}

// DeviceWork is the work that a join has requested of a device behind a driver.
type DeviceWork struct {
	Launches int   // kernel launches
	Syncs    int   // times the host waited for the device
	Bytes    int64 // device memory read and written, in bytes, by the model
	Peak     int64 // peak bytes of device memory in use
}

// Add adds what another part of the same work has asked of the device.
func (w *DeviceWork) Add(other DeviceWork) {
	w.Launches += other.Launches
	w.Syncs += other.Syncs
	w.Bytes += other.Bytes
	w.Peak = max(w.Peak, other.Peak)
}

// Add adds the report of another run of the same join, over other rows. Algorithm,
// Reason and Bits become those of that run.
func (s *JoinStats) Add(other JoinStats) {
	s.Algorithm, s.Reason, s.Bits = other.Algorithm, other.Reason, other.Bits
	s.ProbeRows += other.ProbeRows
	s.RowsOut += other.RowsOut
	s.Time += other.Time
	s.Work.Add(other.Work)
	for _, p := range other.Phases {
		s.AddPhase(p)
	}
}

// Phase is a part of a join that is predicted and measured separately.
type Phase struct {
	Name      string        // "build", "partition probe side", "match", ...
	Predicted time.Duration // by package costmodel; 0: not predicted
	Actual    time.Duration
}

// AddPhase adds p's times to the phase of that name, or appends it: a join that probes
// several times repeats its phases.
func (s *JoinStats) AddPhase(p Phase) {
	for i := range s.Phases {
		if q := &s.Phases[i]; q.Name == p.Name {
			q.Predicted += p.Predicted
			q.Actual += p.Actual
			return
		}
	}
	s.Phases = append(s.Phases, p)
}

// otherPhases is the name of FoldPhases' sum.
const otherPhases = "other"

// FoldPhases reduces phases to at most n > 0 with the same total times: the longest
// ones in their order, then the sum of the others. The sum has a prediction only if
// each of its parts has one.
func FoldPhases(phases []Phase, n int) []Phase {
	if len(phases) <= n {
		return slices.Clone(phases)
	}
	order := make([]int, len(phases)) // longest first
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		p, q := phases[a], phases[b]
		return -cmp.Compare(max(p.Predicted, p.Actual), max(q.Predicted, q.Actual))
	})
	kept := order[:n-1]
	other := Phase{Name: otherPhases}
	predicted := true
	var out []Phase
	for i, p := range phases {
		if slices.Contains(kept, i) {
			out = append(out, p)
			continue
		}
		other.Predicted += p.Predicted
		other.Actual += p.Actual
		predicted = predicted && p.Predicted > 0
	}
	if !predicted {
		other.Predicted = 0
	}
	return append(out, other)
}
