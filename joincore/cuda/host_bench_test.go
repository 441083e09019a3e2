//go:build cuda

package cuda

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/testsupport/suite"
)

var (
	hostBits    = flag.Int("host.bits", 28, "BenchmarkHostResident: 2 to the power of so many rows a side")
	hostRuns    = flag.Int("host.runs", 3, "BenchmarkHostResident: runs of each case, of which the median is printed")
	hostSegment = flag.Int("host.segment", 1<<18, "BenchmarkHostResident: rows of a segment")
	hostOnly    = flag.String("host.only", "", "BenchmarkHostResident: the cases of these names only, with commas between")
	hostWorker  = flag.Bool("host.worker", false, "BenchmarkHostResident: divided joins also with memory as jobs of a worker have it: through slabs, and staged")
)

// BenchmarkHostResident joins inputs in registered host memory, keys and payload of 8
// bytes, and prints one table: what the link carries, measured in this run on
// the same memory, and what of that joins reach. The result is summed up on the
// device, or returned to registered memory; or the device has an eighth of the
// inputs' size. Each case runs once before it is timed.
func BenchmarkHostResident(b *testing.B) {
	h := newHostBench(b)
	fmt.Println(circumstances(h.large.context))
	fmt.Printf("2^%d rows a side, segments of %d rows; %.1f GB in, %.1f GB returned\n", *hostBits, *hostSegment, gigabytes(h.in), gigabytes(h.out))
	h.ceilings()
	fmt.Printf("\n%-9s %-8s %9s %8s %8s %8s %7s  %s\n", "case", "join", "window", "ms", "in GB/s", "of link", "of 55", "phases, ms")
	windows := []int64{1 << 22, 1 << 24, 1 << 26, 1 << 40}
	for _, name := range []string{"checksum", "returned"} {
		for _, a := range []joincore.Algorithm{0, joincore.NPJ, joincore.PHJUM} {
			h.large.rowIDsOnly = a != 0
			for _, w := range windows {
				if a == 0 && w != 1<<40 {
					w = 0 // the provider's own choice, once
				}
				h.join(name, h.large, a, w)
				if w == 0 {
					h.join(name, h.large, 0, 1<<40)
					break
				}
			}
		}
	}
	for by, name := range []string{"divided", "by-device", "by-cores", "by-number"} {
		h.small.outOfCore.By = outofcore.Dividers(by)
		h.join(name, h.small, 0, 0)
	}
	if *hostWorker {
		h.small.outOfCore.By, h.job = outofcore.DeviceAndCores, &suite.Arena{}
		h.small.outOfCore.Slabs.Limit = h.in * 2
		h.join("slabs", h.small, 0, 0)
		h.small.outOfCore.Slabs.Close()
		h.small.outOfCore.SlabFrom = 1 << 60
		h.join("staged", h.small, 0, 0)
	}
}

// hostBench is inputs, results and scratch in one registered mapping.
type hostBench struct {
	*testing.B
	rows, in, out int64
	memory, rest  []byte
	inputs        []*joincore.Relation
	sink          *counting
	scratch       *lockedMemory
	job           joincore.Memory
	large, small  *Provider
	data          *driver.Module
	want          uint64
	link          float64 // GB/s to the device
}

func newHostBench(b *testing.B) *hostBench {
	h := &hostBench{B: b, rows: 1 << *hostBits}
	h.in, h.out = 32*h.rows, 16*h.rows
	const batches, capacity = 24, 1 << 20
	scratchBytes := h.in + h.in/8 + 64<<20
	bytes := h.in + 16*batches*capacity + scratchBytes
	memory, err := syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	h.must(err)
	b.Cleanup(func() { h.must(syscall.Munmap(memory)) })
	h.memory, h.rest = memory, memory
	start := time.Now()
	h.inputs = []*joincore.Relation{h.input(), h.input()}
	h.sink = newCounting(batches, capacity, h.take)
	h.scratch = &lockedMemory{memory: h.take(int(scratchBytes))}
	h.job = h.scratch
	made := time.Since(start)
	h.large = h.provider(Config{Budget: 40 * h.in / 8, Streams: 8})
	h.small = h.provider(Config{Budget: h.in / 8, Streams: 8})
	start = time.Now()
	release, err := h.large.Register(memory)
	h.must(err)
	b.Cleanup(release)
	h.small.registered.add(memory)
	fmt.Printf("%d cores; made in %.1f s, %.1f GB registered in %.1f s\n", runtime.NumCPU(), made.Seconds(), gigabytes(bytes), time.Since(start).Seconds())
	h.data, err = h.large.context.Load(kernels.Data)
	h.must(err)
	h.want = expectedSum(h.rows)
	return h
}

func (h *hostBench) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *hostBench) provider(cfg Config) *Provider {
	p, err := New(cfg)
	h.must(err)
	h.Cleanup(func() { h.must(p.Close()) })
	return p
}

func (h *hostBench) take(n int) []byte {
	out := h.rest[:n:n]
	h.rest = h.rest[n:]
	return out
}

// ceilings measures the link alone, over this memory: in whole and in pieces of
// a segment's column.
func (h *hostBench) ceilings() {
	arena, err := h.large.context.NewArena(1 << 30)
	h.must(err)
	defer arena.Close()
	var streams [3]*driver.Stream
	for i := range streams {
		streams[i], err = h.large.context.NewStream()
		h.must(err)
		defer streams[i].Close()
	}
	bytes := min(int64(len(h.memory)), 8<<30)
	measure := func(name string, piece int64, in []*driver.Stream, out *driver.Stream) float64 {
		var best float64
		for range 3 {
			start := time.Now()
			at := int64(0)
			for i := 0; at+piece <= bytes; i++ {
				from, offset := h.memory[at:at+piece], driver.Ptr(at%(1<<29)/piece*piece)
				if len(in) > 0 {
					h.must(in[i%len(in)].CopyIn(arena.Base()+offset, from))
				}
				if out != nil { // into memory whose content is not wanted any more
					to := h.scratch.memory[at%int64(len(h.scratch.memory)/2):][:piece]
					h.must(out.CopyOut(to, arena.Base()+1<<29+offset))
				}
				at += piece
			}
			for _, s := range streams {
				h.must(s.Sync(h.Context()))
			}
			best = max(best, gigabytes(at)/time.Since(start).Seconds())
		}
		fmt.Printf("link: %-34s %6.1f GB/s\n", name, best)
		return best
	}
	segment := 8 * int64(*hostSegment)
	large := int64(256 << 20)
	for 2*large > int64(len(h.scratch.memory)) {
		large /= 2
	}
	h.link = measure("in, in whole", large, streams[:1], nil)
	measure(fmt.Sprintf("in, %d KB", segment>>10), segment, streams[:1], nil)
	measure(fmt.Sprintf("in, %d KB, two streams", segment>>10), segment, streams[:2], nil)
	measure("out, in whole", large, nil, streams[2])
	measure(fmt.Sprintf("out, %d KB", segment>>10), segment, nil, streams[2])
	measure("both, in whole, each", large, streams[:1], streams[2])
	measure(fmt.Sprintf("both, %d KB, each", segment>>10), segment, streams[:2], streams[2])
}

// join times one case and prints its line.
func (h *hostBench) join(name string, p *Provider, a joincore.Algorithm, window int64) {
	if *hostOnly != "" && !slices.Contains(strings.Split(*hostOnly, ","), name) {
		return
	}
	p.outOfCore.WindowRows = window
	var times []time.Duration
	var stats joincore.JoinStats
	var err error
	var first time.Duration
	for i := range *hostRuns + 1 {
		start := time.Now()
		if name == "returned" {
			stats, err = h.returned(p, a)
		} else {
			stats, err = h.summed(p, a)
		}
		if err != nil {
			fmt.Printf("%-9s %-8v %9d %v\n", name, a, window, err)
			return
		}
		if i > 0 {
			times = append(times, time.Since(start))
			continue
		}
		first = time.Since(start)
		p.Settle()
	}
	slices.Sort(times)
	median := times[len(times)/2]
	in := gigabytes(h.in) / median.Seconds()
	phases := ""
	for _, phase := range stats.Phases {
		phases += fmt.Sprintf("%s %.1f, ", phase.Name, phase.Actual.Seconds()*1000)
	}
	fmt.Printf("%-9s %-8s %9d %8.1f %8.1f %7.0f%% %6.0f%%  %ssyncs %d, bits %d, first run %.1f\n", name, stats.Algorithm, window, median.Seconds()*1000,
		in, 100*in/h.link, 100*in/55, phases, stats.Work.Syncs, stats.Bits, first.Seconds()*1000)
}

// returned has the result come back whole.
func (h *hostBench) returned(p *Provider, a joincore.Algorithm) (joincore.JoinStats, error) {
	plan := suite.PairPlan(h.inputs[0], h.inputs[1])
	plan.Output = []joincore.ColumnRef{{Input: 0, Column: 1}, {Input: 1, Column: 1}}
	opt := exec.Options{Decide: func(_ int, d costmodel.Decision) costmodel.Decision { d.Algorithm = a; return d }}
	var stats joincore.Stats
	h.sink.rows.Store(0)
	if err := suite.Run(h.Context(), p, plan, h.inputs, h.job, h.sink, opt, &stats); err != nil {
		return joincore.JoinStats{}, err
	}
	if n := h.sink.rows.Load(); n != h.rows {
		return joincore.JoinStats{}, fmt.Errorf("%d rows", n)
	}
	return stats.Joins[0], nil
}

// summed has the result summed up on the device.
func (h *hostBench) summed(p *Provider, a joincore.Algorithm) (stats joincore.JoinStats, err error) {
	d, err := p.Open(h.job, device.Options{})
	if err != nil {
		return stats, err
	}
	defer d.Close()
	e := d.(*execution)
	spaces := make([]device.Space, 2)
	for i, r := range h.inputs {
		if spaces[i], err = e.Import(i, r); err != nil {
			return stats, err
		}
	}
	refs := []joincore.ColumnRef{{Input: 0, Column: 1}, {Input: 1, Column: 1}}
	probe, build := device.Keys([]joincore.KeyPair{{Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}}, e.describe)
	join, err := e.Prepare(h.Context(), &device.JoinSpec{
		Match:     device.Match{Build: build, Probe: probe, Emit: device.Pairs, ProbeRows: h.rows},
		Algorithm: a, KeepProbe: device.Keep{Columns: refs[:1]}, KeepBuild: device.Keep{Columns: refs[1:]}, BuildRows: h.rows, ResultRows: h.rows, ProbeInput: true,
	}, spaces[1])
	if err != nil {
		return stats, err
	}
	defer join.Release()
	sum, err := newSumming(h, e)
	if err != nil {
		return stats, err
	}
	defer sum.close()
	if err := join.Probe(h.Context(), spaces[0], func(s device.Space) error { return sum.add(h.Context(), e.space(s), refs) }); err != nil {
		return stats, err
	}
	if got := sum.total; got[0] != h.want || got[1] != uint64(h.rows) {
		return stats, fmt.Errorf("checksum %x of %d rows, not %x of %d", got[0], got[1], h.want, h.rows)
	}
	stats = join.Report()
	stats.AddPhase(joincore.Phase{Name: "sum", Actual: sum.time})
	return stats, nil
}
