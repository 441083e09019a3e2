//go:build cuda

package multi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/fabric"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/mesh"
	"gpujoin/tests/measure"
)

// measureMesh measures the links.
func (b *bench) measureMesh(ctx context.Context) (err error) {
	if b.mesh, err = links.Discover(ctx, b.devices, false); err != nil {
		return err
	}
	return b.mesh.Print(os.Stdout)
}

// exchangeResult is an exchange of equal bytes between all pairs of devices.
type exchangeResult struct {
	How    string // of the copies
	MB     int64  // a pair
	Packet int64  // KB; 0: chosen by the exchange
	Batch  int
	MS     float64
	GBps   float64 // of each device, sent
	// Links is the measured rate of a link while both directions are busy.
	Links float64
	// Plain is the rate of the same bytes as one copy for each pair, without an exchange.
	Plain float64
	// Trace is the host's steps of an exchange, if asked for.
	Trace []string
}

func (r *exchangeResult) result() measure.Result {
	name := fmt.Sprintf("exchange of %d MB a pair", r.MB)
	if r.Packet > 0 {
		name += fmt.Sprintf(", packets of %d KB", r.Packet)
	}
	return measure.Result{Name: name, Engine: r.How, Ms: []float64{r.MS}, Values: map[string]float64{
		"gb/s": r.GBps, "links_gb/s": r.Links, "plain_gb/s": r.Plain, "batch": float64(r.Batch)}}
}

// enough is how many MB a pair an exchange has whose rate has a bar.
const enough = 256

// measureExchange times exchanges between all devices.
func (b *bench) measureExchange(ctx context.Context) error {
	if b.mesh == nil {
		if err := b.measureMesh(ctx); err != nil {
			return err
		}
	}
	m, err := b.mesh.Mesh()
	if err != nil {
		return err
	}
	links := 0.0
	for _, p := range b.mesh.Pairs {
		links = max(links, p.BothWays)
	}
	rows := []string{"copies\tMB a pair\tpacket KB\tbatch\tms\tGB/s each\tof the links\tof plain copies"}
	var traces []string
	for _, c := range exchanges() {
		r, err := b.exchanged(ctx, m, c)
		if err != nil {
			return err
		}
		r.Links = links
		b.results = append(b.results, r.result())
		rows = append(rows, fmt.Sprintf("%s\t%d\t%d\t%d\t%.2f\t%.0f\t%.2f\t%.2f",
			r.How, r.MB, r.Packet, r.Batch, r.MS, r.GBps, r.GBps/max(links, 1), r.GBps/max(r.Plain, 1)))
		traces = append(traces, r.Trace...)
		if c.way == engines && r.MB >= enough && c.config.Packet == 0 && links > 0 {
			b.misses("exchange", ofLinks, r.GBps/links)
		}
	}
	if err := measure.Table(os.Stdout, rows...); err != nil {
		return err
	}
	for _, line := range traces {
		fmt.Println(line)
	}
	return nil
}

// way is what executes copies.
type way string

const (
	engines way = "engines"
	threads way = "threads"
	staged  way = "staged" // engines, through host memory
)

type exchangeCase struct {
	way       way
	megabytes int64
	config    exchange.Config
}

func exchanges() []exchangeCase {
	var list []exchangeCase
	add := func(w way, packet int64, sizes ...int64) {
		c := exchange.Default()
		c.Packet = packet
		for _, mb := range sizes {
			list = append(list, exchangeCase{w, mb, c})
		}
	}
	add(engines, 0, 2, 16, 64, 256, 1024)
	for _, kb := range []int64{512, 2048, 8192} {
		add(engines, kb<<10, 1024)
	}
	add(threads, 0, 2, 16, 64, 256, 1024)
	add(staged, 0, 16, 256)
	return list
}

// exchanged times exchanges of some bytes between all pairs and checks what has arrived.
func (b *bench) exchanged(ctx context.Context, m *mesh.Mesh, c exchangeCase) (r exchangeResult, err error) {
	n := int64(m.GPUs())
	o := fabric.Options{Devices: b.devices, Bytes: 2*(n-1)*c.megabytes<<20 + exchange.Default().BufferBytes(m, 0) + 64<<20, Staged: c.way == staged}
	if c.way == threads {
		o.ByThreads = math.MaxInt64
	}
	f, err := fabric.Open(m, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t, err := newTraffic(f, c.megabytes<<20)
	if err != nil {
		return r, err
	}
	r = exchangeResult{How: string(c.way), MB: c.megabytes, Packet: c.config.Packet >> 10, Batch: c.config.Batch}
	took, err := t.time(ctx, c.config, b.repeats)
	if err != nil {
		return r, err
	}
	r.MS = measure.Round(took.Seconds()*1e3, 3)
	sent := float64((n - 1) * c.megabytes << 20)
	r.GBps = measure.Round(sent/float64(took), 1)
	if b.phases {
		if r.Trace, err = t.trace(ctx, c.config); err != nil {
			return r, err
		}
	}
	if err := t.check(); err != nil || c.way == staged {
		return r, err
	}
	if took, err = t.plain(b.repeats); err != nil {
		return r, err
	}
	r.Plain = measure.Round(sent/float64(took), 1)
	return r, nil
}

// traffic is equal bytes from each GPU to each other one.
type traffic struct {
	fabric *fabric.Fabric
	runs   []live.Run
}

// newTraffic fills the sources. Words that are checked later name the run and their place.
func newTraffic(f *fabric.Fabric, bytes int64) (*traffic, error) {
	t := &traffic{fabric: f}
	for from := range f.Mesh().GPUs() {
		for to := range f.Mesh().GPUs() {
			if from == to {
				continue
			}
			source, err := f.Alloc(from, bytes)
			if err != nil {
				return nil, err
			}
			target, err := f.Alloc(to, bytes)
			if err != nil {
				return nil, err
			}
			t.runs = append(t.runs, live.Run{
				From: from, To: to, Bytes: bytes, Source: live.Place{Buffer: source}, Target: live.Place{Buffer: target},
			})
		}
	}
	at := positions(bytes)
	for i, r := range t.runs {
		err := t.words(r.From, len(at), func(s *driver.Stream, h *driver.Host) error {
			source := r.Source.Buffer.(*fabric.Memory).Ptr()
			for j := range at {
				h.Words()[j] = word(i, j)
			}
			err := s.Memset(source, byte(i+1), bytes)
			for j, p := range at {
				err = errors.Join(err, s.CopyIn(source+driver.Ptr(p), h.Bytes()[8*j:8*j+8]))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// positions are those of the words that are checked: in most packets, and at the end.
func positions(bytes int64) []int64 {
	const apart = 1<<20 + 8
	var list []int64
	for at := int64(0); at < bytes-8; at += apart {
		list = append(list, at)
	}
	return append(list, (bytes-8)&^7)
}

func word(run, j int) uint64 { return uint64(run+1)<<40 | uint64(j)<<8 | 0xC3 }

// words calls f with a stream of a GPU and page-locked memory for some words, and waits.
func (t *traffic) words(gpu, words int, f func(*driver.Stream, *driver.Host) error) (err error) {
	c := t.fabric.Context(gpu)
	s, err := c.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	h, err := c.Pinned(int64(8 * words))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Free()) }()
	return errors.Join(f(s, h), s.Sync(context.Background()))
}

// time returns the median time of exchanges, after one that is not timed. Garbage is collected
// before each, since a collection takes part of the processors for part of one.
func (t *traffic) time(ctx context.Context, c exchange.Config, repeats int) (time.Duration, error) {
	var times []float64
	for i := range repeats + 1 {
		runtime.GC()
		stats, err := live.Exchange(ctx, t.fabric, c, t.runs)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			times = append(times, float64(stats.Time))
		}
	}
	return time.Duration(measure.Median(times)), nil
}

// check compares the words that have arrived.
func (t *traffic) check() error {
	for i, r := range t.runs {
		at := positions(r.Bytes)
		err := t.words(r.To, len(at), func(s *driver.Stream, h *driver.Host) error {
			clear(h.Words())
			target := r.Target.Buffer.(*fabric.Memory).Ptr()
			var err error
			for j, p := range at {
				err = errors.Join(err, s.CopyOut(h.Bytes()[8*j:8*j+8], target+driver.Ptr(p)))
			}
			if err := errors.Join(err, s.Sync(context.Background())); err != nil {
				return err
			}
			for j, got := range h.Words() {
				if want := word(i, j); got != want {
					return fmt.Errorf("run from %d to %d: %#x at byte %d, want %#x", r.From, r.To, got, at[j], want)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
