//go:build cuda

package multi

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gpujoin/joincore/cuda/fabric"
	"gpujoin/joincore/exchange"
	"gpujoin/tests/measure"
	"gpujoin/testsupport/machines"
	"gpujoin/testsupport/sim"
)

// emulatedResult is an exchange of a DGX-1 that is emulated, and simulated.
type emulatedResult struct {
	Policy    string
	MB        int64 // a pair
	GBps      float64
	Simulated float64
	Cut       float64 // what the tightest cut allows
}

// emulated is the name of the bars: the emulation is about as fast as the simulation, adaptive
// routing reaches most of what the tightest cut allows, and is faster than direct copies.
const emulated = "emulated"

func (r *emulatedResult) result() measure.Result {
	return measure.Result{Name: emulated, Engine: r.Policy, Values: map[string]float64{
		"mb": float64(r.MB), "gb/s": r.GBps, "simulated_gb/s": r.Simulated, "cut_gb/s": r.Cut}}
}

// measureEmulated has the devices act as the GPUs of a DGX-1, whose links their copies must
// not exceed: two devices as its two halves.
func (b *bench) measureEmulated(ctx context.Context) (err error) {
	m, err := machines.Mesh("dgx1")
	if err != nil {
		return err
	}
	const megabytes = 192
	flows := make([][]int64, m.GPUs())
	loads := make([][]float64, m.GPUs())
	total := int64(0)
	for from := range flows {
		flows[from], loads[from] = make([]int64, m.GPUs()), make([]float64, m.GPUs())
		for to := range flows {
			if from != to {
				flows[from][to], loads[from][to] = megabytes<<20, megabytes<<20
				total += megabytes << 20
			}
		}
	}
	_, least := m.Tightest(loads)
	cut := float64(total) / least / 1e9
	devices := make([]int, m.GPUs())
	for g := range devices {
		devices[g] = b.devices[g*min(len(b.devices), len(devices))/len(devices)]
	}
	c := exchange.Default()
	// Longer copies, and more of them under way: one process makes the calls for all eight
	// GPUs.
	c.Posted, c.Slots = 3, 32
	f, err := fabric.Open(m, fabric.Options{
		Devices: devices, Bytes: 14*megabytes<<20 + c.BufferBytes(m, 0) + 64<<20, Emulate: true,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t, err := newTraffic(f, megabytes<<20)
	if err != nil {
		return err
	}
	rows := []string{"policy\tGB/s\tsimulated\tratio\tof the cut"}
	for _, p := range []struct {
		name   string
		policy exchange.Policy
	}{
		{"adaptive", exchange.Adaptive{}}, {"bandwidth", sim.Bandwidth{}}, {"hops", sim.Hops{}},
		{"latency", sim.Latency{}}, {"direct", sim.Direct{}},
	} {
		c.Policy = p.policy
		took, err := t.time(ctx, c, b.repeats)
		if err != nil {
			return err
		}
		s, err := sim.Run(sim.Options{Mesh: m, Config: c, Traffic: flows, Seed: 1})
		if err != nil {
			return err
		}
		r := emulatedResult{
			Policy: p.name, MB: megabytes, GBps: measure.Round(float64(total)/float64(took), 1),
			Simulated: measure.Round(s.GBps(), 1), Cut: measure.Round(cut, 1),
		}
		b.emulated, b.results = append(b.emulated, r), append(b.results, r.result())
		ratio := r.GBps / r.Simulated
		rows = append(rows, fmt.Sprintf("%s\t%.0f\t%.0f\t%.2f\t%.2f", r.Policy, r.GBps, r.Simulated, ratio, r.GBps/cut))
		if !b.misses(emulated, "least by simulation", ratio) {
			b.misses(emulated, "most by simulation", ratio)
		}
	}
	adaptive, direct := b.emulated[0].GBps, b.emulated[len(b.emulated)-1].GBps
	if !b.misses(emulated, "adaptive by cut", adaptive/cut) {
		b.misses(emulated, "adaptive by direct", adaptive/direct)
	}
	return errors.Join(measure.Table(os.Stdout, rows...), t.check())
}
