//go:build cuda

package multi

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/multi"
	"gpujoin/tests/measure"

	"golang.org/x/sys/unix"
)

// hostResult is a join of inputs in host memory on one device and on all of them.
type hostResult struct {
	Case  string
	Rows  int64 // of each input: keys and payload of 8 bytes
	OneMS float64
	AllMS float64
	Ratio float64 // all by one
	GBps  float64 // of the inputs, on all devices
	Links float64 // GB/s that the links from the host can carry together; 0: not known
	Sent  int64   // bytes between devices
	How   string
}

// ofLinks is the part of the links' rate, as bars name it.
const ofLinks = "of the links"

// result returns the join as a result of the document.
func (r *hostResult) result() measure.Result {
	m := measure.Result{Name: r.Case, Engine: "host inputs", Ms: []float64{r.AllMS}, Texts: map[string]string{"how": measure.OneLine(r.How)},
		Values: map[string]float64{"rows": float64(r.Rows), "one_ms": r.OneMS, ofOne: r.Ratio, "gb/s": r.GBps, "bytes_sent": float64(r.Sent)}}
	if r.Links > 0 {
		m.Values["links_gb/s"], m.Values[ofLinks] = r.Links, r.GBps/r.Links
	}
	return m
}

// bars returns the bars of the join, and counts those that it misses.
func (r *hostResult) bars(b *bench) string {
	text := ""
	for value, v := range map[string]float64{ofOne: r.Ratio, ofLinks: r.GBps / max(r.Links, 1e-9)} {
		bar := measure.BarOf(suite, r.Case, value)
		if !bar.Exists() || value == ofLinks && r.Links == 0 {
			continue
		}
		text += fmt.Sprintf("; bar %v %s: %v", bar, value, !b.misses(r.Case, value, v))
	}
	return text
}

// hostBed is the inputs of a join, page-locked for all devices.
type hostBed struct {
	rows      int64 // of the build side
	times     int   // probe rows for each of them
	inputs    []*joincore.Relation
	memory    [][]byte // to be page-locked: of both inputs, and of batches of results
	results   []byte
	providers []*cuda.Provider
	release   []func()
}

// segmentRows is how many rows a segment has: as many as a batch of the daemon.
const segmentRows = 1 << 17

// spread returns different keys for different rows, in no order.
func spread(row int64) uint64 {
	return bits.RotateLeft64(uint64(row)*0x9E3779B97F4A7C15, 32) * 0xD6E8FEB86659FD93
}

// newHostBed takes memory for inputs of that many rows.
func newHostBed(rows int64) *hostBed {
	h := &hostBed{times: 1, results: make([]byte, batches*batchRows*batchRow)}
	h.memory = [][]byte{make([]byte, hostRow*rows), make([]byte, hostRow*rows), h.results}
	return h
}

// hostRow is the bytes of a row: its key and its payload.
const hostRow = 16

// fill makes inputs of some rows: keys 0, 1, 2, ... on one side, as many times as probe rows have a key, and
// the same from behind on the other one.
func (h *hostBed) fill(rows int64) {
	h.rows = rows
	h.inputs = []*joincore.Relation{
		h.input(h.memory[0], func(row int64) int64 { return row }),
		h.input(h.memory[1], func(row int64) int64 { return rows - 1 - row }),
	}
	h.inputs[0].Segments = slices.Repeat(h.inputs[0].Segments, h.times)
}

func (h *hostBed) input(memory []byte, order func(int64) int64) *joincore.Relation {
	r := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}, {Kind: joincore.Fixed, Width: 8, Align: 8}}}
	for first := int64(0); first < h.rows; first += segmentRows {
		n := min(segmentRows, h.rows-first)
		part := memory[hostRow*first:]
		r.Segments = append(r.Segments, joincore.Segment{Rows: int(n), Columns: []joincore.Vector{{Values: part[: 8*n : 8*n]}, {Values: part[8*n : 16*n : 16*n]}}})
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range runtime.NumCPU() {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(r.Segments)); i = next.Add(1) - 1 {
				s := &r.Segments[i]
				for k := range int64(s.Rows) {
					row := order(i*segmentRows + k)
					binary.LittleEndian.PutUint64(s.Columns[0].Values[8*k:], spread(row))
					binary.LittleEndian.PutUint64(s.Columns[1].Values[8*k:], uint64(row))
				}
			}
		})
	}
	wait.Wait()
	return r
}

// open opens the devices with a budget and page-locks memory for them.
func (h *hostBed) open(devices []int, budget int64) error {
	for i, d := range devices {
		p, err := cuda.New(cuda.Config{Ordinal: d, Budget: budget, Peers: slices.Delete(slices.Clone(devices), i, i+1)})
		if err != nil {
			return err
		}
		h.providers = append(h.providers, p)
	}
	for _, m := range h.memory {
		for _, p := range h.providers {
			release, err := p.Register(m)
			if err != nil {
				return err
			}
			h.release = append(h.release, release)
		}
	}
	return nil
}

func (h *hostBed) close() error {
	for _, release := range slices.Backward(h.release) {
		release()
	}
	h.release = nil
	var err error
	for _, p := range h.providers {
		if e := p.Close(); err == nil {
			err = e
		}
	}
	h.providers = nil
	return err
}

// plan joins the inputs by their keys: each probe row has one partner. summed adds the payload of
// both up on the devices; otherwise the rows return.
func (h *hostBed) plan(summed bool) *joincore.Plan {
	p := &joincore.Plan{
		Root: &joincore.Join{
			Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1},
			Keys: []joincore.KeyPair{{Left: joincore.ColumnRef{Input: 0}, Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
			Rows: float64(h.result()),
		},
		Output: []joincore.ColumnRef{{Input: 0, Column: 1}, {Input: 1, Column: 1}},
	}
	for _, r := range h.inputs {
		p.Inputs = append(p.Inputs, joincore.Input{Columns: r.Columns, Rows: float64(r.Rows())})
	}
	if summed {
		p.Root = &joincore.Aggregate{Child: p.Root, ID: 2, Rows: 1, Functions: []joincore.Function{
			{Kind: joincore.Sum, Arg: joincore.ColumnRef{Input: 0, Column: 1}}, {Kind: joincore.Sum, Arg: joincore.ColumnRef{Input: 1, Column: 1}},
			{Kind: joincore.Count},
		}}
		p.Output = []joincore.ColumnRef{{Input: 2}, {Input: 2, Column: 1}, {Input: 2, Column: 2}}
	}
	return p
}

// result is the rows of the join.
func (h *hostBed) result() int64 { return h.rows * int64(h.times) }

// Batches of results: how many there are, their rows, and the bytes of a row at most.
const (
	batches   = 64
	batchRows = 1 << 16
	batchRow  = 48
)

// execute returns the time of a join and what it says about itself, after checking its
// result.
func (h *hostBed) execute(ctx context.Context, p device.Provider, summed bool) (ms float64, stats joincore.Stats, err error) {
	plan, err := joincore.Check(h.plan(summed))
	if err != nil {
		return 0, stats, err
	}
	s := &hostSink{batches: make(chan *joincore.Batch, batches)}
	memory := h.results
	for range cap(s.batches) {
		b := &joincore.Batch{Rows: batchRows}
		for _, c := range plan.Output {
			bytes := plan.Schema().Column(c).Width * batchRows
			b.Columns = append(b.Columns, joincore.Vector{Values: memory[:bytes:bytes], Validity: make([]byte, (batchRows+7)/8)})
			memory = memory[bytes:]
		}
		s.batches <- b
	}
	start := time.Now()
	if err = exec.Run(ctx, p, plan, h.inputs, mapped{}, s, exec.Options{}, &stats); err != nil {
		return 0, stats, err
	}
	took := time.Since(start)
	want := uint64(h.rows) * uint64(h.rows-1) / 2 * uint64(h.times)
	if summed && (s.rows.Load() != 1 || s.first[0] != want || s.first[1] != want || s.first[2] != uint64(h.result())) || !summed && s.rows.Load() != h.result() {
		return 0, stats, fmt.Errorf("wrong result: %d rows, %v, not %d", s.rows.Load(), s.first, want)
	}
	return float64(took) / float64(time.Millisecond), stats, nil
}

// mapped is the host memory of joins: mappings whose pages are allocated on first touch, as
// in the worker. The Go heap would clear memory that a join takes for its budget only.
type mapped struct{}

func (mapped) Alloc(n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	return unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
}

func (mapped) Free(b []byte) {
	if len(b) > 0 {
		_ = unix.Munmap(b) // fails only for what was not mapped
	}
}

// hostSink counts rows and keeps the first one's values.
type hostSink struct {
	batches chan *joincore.Batch
	rows    atomic.Int64
	mu      sync.Mutex
	first   []uint64
}

func (s *hostSink) NewBatch(ctx context.Context, _ []float64) (*joincore.Batch, error) {
	select {
	case b := <-s.batches:
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *hostSink) Emit(_ context.Context, b *joincore.Batch, rows int, _ []int) error {
	s.mu.Lock()
	s.first = nil
	for _, c := range b.Columns {
		s.first = append(s.first, binary.LittleEndian.Uint64(c.Values))
	}
	s.mu.Unlock()
	s.rows.Add(int64(rows))
	s.batches <- b
	return nil
}

func (s *hostSink) Discard(b *joincore.Batch) { s.batches <- b }

// hostCases are the joins: what returns, and the inputs by the budget of a device.
var hostCases = []struct {
	name   string
	summed bool
	excess int64 // by how many times the inputs exceed a device's budget; 0: they fit
}{
	{"checksum", true, 0}, {"returned", false, 0}, {"8 x the budget", true, 8},
}

// repeated reports whether a device is named several times: its link is then that of
// several providers, and its rate is left out.
func (b *bench) repeated() bool {
	named := slices.Clone(b.devices)
	slices.Sort(named)
	return len(slices.Compact(named)) < len(b.devices)
}

// measureHost measures joins of inputs in host memory.
func (b *bench) measureHost(ctx context.Context) error {
	total := 0.0
	if !b.repeated() {
		facts := b.mesh
		if facts == nil {
			var err error
			if facts, err = links.Discover(ctx, b.devices, false); err != nil {
				return err
			}
		}
		for _, d := range facts.Devices {
			total += d.ToDevice
		}
	}
	h := newHostBed(b.hostRows)
	h.fill(b.hostRows)
	fmt.Printf("%-16s %8s %10s %10s %7s %7s %7s  %s\n", "host inputs", "rows", "one, ms", "all, ms", "ratio", "GB/s", "links", "how")
	budget := int64(-1)
	defer func() { _ = h.close() }()
	for _, c := range hostCases {
		want := int64(0)
		if b.repeated() {
			want = 32 << 30 // a device has this for each provider
		}
		if c.excess > 0 {
			want = 32 * h.rows / c.excess
		}
		if want != budget {
			if err := h.close(); err != nil {
				return err
			}
			if err := h.open(b.devices, want); err != nil {
				return err
			}
			budget = want
		}
		r := hostResult{Case: c.name, Rows: h.rows, Links: total}
		var members []device.Provider
		for _, p := range h.providers {
			members = append(members, p)
		}
		for _, of := range []struct {
			p  device.Provider
			ms *float64
		}{{members[0], &r.OneMS}, {multi.Together("cuda", members, costmodel.Auto), &r.AllMS}} {
			var all []float64
			for i := range b.repeats + 1 {
				ms, stats, err := h.execute(ctx, of.p, c.summed)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				if i > 0 {
					all = append(all, ms)
				} else { // the first one allocates
					for _, p := range h.providers {
						p.Settle()
					}
				}
				r.Sent, r.How = stats.Sent, fmt.Sprintf("%s x%d %s", stats.Joins[0].Algorithm, stats.Devices, stats.Alone)
				if i == b.repeats {
					for _, p := range stats.Joins[0].Phases {
						r.How += fmt.Sprintf(", %s %.1f", p.Name, float64(p.Actual)/float64(time.Millisecond))
					}
					for _, a := range stats.Aggregates {
						r.How += fmt.Sprintf(", aggregate %.1f", float64(a.Time)/float64(time.Millisecond))
					}
				}
			}
			slices.Sort(all)
			*of.ms = all[len(all)/2]
			fmt.Printf("  %s\n", r.How)
		}
		r.Ratio, r.GBps = r.AllMS/r.OneMS, float64(32*h.rows)/r.AllMS/1e6
		b.results = append(b.results, r.result())
		fmt.Printf("%-16s %8d %10.1f %10.1f %7.2f %7.1f %7.1f  sent %.2f GB%s\n",
			r.Case, r.Rows, r.OneMS, r.AllMS, r.Ratio, r.GBps, r.Links, float64(r.Sent)/1e9, r.bars(b))
	}
	return nil
}
