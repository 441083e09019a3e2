//go:build cuda

package links

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gpujoin/joincore/cuda/driver"
)

// Measurements: sizes of copies, the bytes of each sequence of copies, and how often each
// is repeated; the median counts.
var copySizes = []int64{64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20, 16 << 20, 64 << 20}

const (
	sequenceBytes = 512 << 20
	mostCopies    = 256
	bufferBytes   = 64 << 20
	hostBytes     = 64 << 20
	repeats       = 5
)

// rig is what a measurement uses of each device.
type rig struct {
	context  *driver.Context
	arena    *driver.Arena
	in, out  driver.Ptr
	streams  [2]*driver.Stream
	host     *driver.Host
	from, to *driver.Event // with timing
}

// measureFacts fills in rates and latencies.
func measureFacts(ctx context.Context, f *Facts, infos []driver.Info) (err error) {
	var rigs []*rig
	defer func() {
		for _, r := range slices.Backward(rigs) {
			err = errors.Join(err, r.close())
		}
	}()
	for _, info := range infos {
		c, err := driver.Open(info.Ordinal)
		if err != nil {
			return err
		}
		rigs = append(rigs, &rig{context: c})
	}
	for i, r := range rigs {
		var peers []*driver.Context
		for j, other := range rigs {
			if i != j && f.pair(j, i).Peer {
				peers = append(peers, other.context)
			}
		}
		if err := r.open(peers); err != nil {
			return fmt.Errorf("device %d: %w", infos[i].Ordinal, err)
		}
	}
	for i, r := range rigs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.measureHost(ctx, &f.Devices[i]); err != nil {
			return err
		}
	}
	var all []copying
	for i := range f.Pairs {
		p := &f.Pairs[i]
		if f.Apart { // how the driver copies between devices is its own choice
			break
		}
		if err := measurePair(ctx, p, rigs); err != nil {
			return err
		}
		if p.Peer {
			all = append(all, copying{rigs[p.From], rigs[p.To]})
		}
	}
	if len(all) > 0 {
		if f.AllGBps, err = copyTogether(ctx, all); err != nil {
			return err
		}
	}
	return f.check()
}

func (r *rig) open(peers []*driver.Context) (err error) {
	if r.arena, err = r.context.NewArena(2*bufferBytes, peers...); err != nil {
		return err
	}
	r.in, r.out = r.arena.Base(), r.arena.Base()+bufferBytes
	for i := range r.streams {
		if r.streams[i], err = r.context.NewStream(); err != nil {
			return err
		}
	}
	for _, e := range []**driver.Event{&r.from, &r.to} {
		if *e, err = r.context.NewEvent(true); err != nil {
			return err
		}
	}
	if r.host, err = r.context.Pinned(2 * hostBytes); err != nil {
		return err
	}
	return r.streams[0].Memset(r.in, 1, 2*bufferBytes)
}

func (r *rig) close() error {
	return errors.Join(r.streams[0].Close(), r.streams[1].Close(), r.from.Close(), r.to.Close(),
		r.host.Free(), r.arena.Close(), r.context.Close())
}

// timed returns the median time, in ns, of what queue queues on the first stream, after
// one run that is not timed.
func (r *rig) timed(ctx context.Context, queue func(s *driver.Stream) error) (float64, error) {
	var times []float64
	s := r.streams[0]
	for i := range repeats + 1 {
		if err := errors.Join(s.Record(r.from), queue(s), s.Record(r.to), s.Sync(ctx)); err != nil {
			return 0, err
		}
		ms, err := r.to.Since(r.from)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			times = append(times, ms*1e6)
		}
	}
	return median(times), nil
}

// measureHost measures copies from and to page-locked memory.
func (r *rig) measureHost(ctx context.Context, d *Device) error {
	const copies = 4
	in, out := r.host.Bytes()[:hostBytes], r.host.Bytes()[hostBytes:]
	up := func(s *driver.Stream) error { return s.CopyIn(r.in, in) }
	down := func(s *driver.Stream) error { return s.CopyOut(out, r.out) }
	for _, c := range []struct {
		to    *float64
		queue func(s *driver.Stream) error
	}{{&d.ToDevice, up}, {&d.ToHost, down}} {
		ns, err := r.timed(ctx, func(s *driver.Stream) error {
			for range copies {
				if err := c.queue(s); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		*c.to = copies * hostBytes / ns
	}
	ns, err := r.timed(ctx, func(s *driver.Stream) error {
		other := r.streams[1]
		if err := s.Then(other); err != nil {
			return err
		}
		for range copies {
			if err := errors.Join(up(s), down(other)); err != nil {
				return err
			}
		}
		return other.Then(s)
	})
	d.BothWays = 2 * copies * hostBytes / ns
	return err
}

// measurePair measures copies between two devices in one direction, and in both at once.
func measurePair(ctx context.Context, p *Pair, rigs []*rig) error {
	from, to := rigs[p.From], rigs[p.To]
	for _, size := range copySizes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		copies := min(sequenceBytes/size, mostCopies)
		ns, err := from.timed(ctx, func(s *driver.Stream) error { return p.copies(s, from, to, size, copies) })
		if err != nil {
			return fmt.Errorf("copies from device %d to %d: %w", p.From, p.To, err)
		}
		p.Sizes = append(p.Sizes, Size{size, float64(copies*size) / ns})
	}
	var latencies []time.Duration
	for range 20 {
		start := time.Now()
		if err := errors.Join(p.copies(from.streams[0], from, to, 8, 1), from.streams[0].Sync(ctx)); err != nil {
			return err
		}
		latencies = append(latencies, time.Since(start))
	}
	p.Latency = median(latencies)
	if !p.Peer {
		return nil
	}
	gbps, err := copyTogether(ctx, []copying{{from, to}, {to, from}})
	p.BothWays = gbps / 2
	return err
}

// copies queues copies of one size, which follow each other through the buffers.
func (p *Pair) copies(s *driver.Stream, from, to *rig, size, copies int64) error {
	for i := range copies {
		at := driver.Ptr(i * size % bufferBytes)
		if p.Peer {
			if err := s.Copy(to.in+at, from.out+at, size); err != nil {
				return err
			}
		} else if err := s.Push(to.in+at, to.context, from.out+at, size); err != nil {
			return err
		}
	}
	return nil
}

// copying is copies from one device to another.
type copying struct{ from, to *rig }

// copyTogether returns the rate of all copies at once, by the host's clock.
func copyTogether(ctx context.Context, all []copying) (gbps float64, err error) {
	const copies = 32
	streams := make([]*driver.Stream, len(all))
	defer func() {
		for _, s := range streams {
			err = errors.Join(err, s.Close())
		}
	}()
	for i, c := range all {
		if streams[i], err = c.from.context.NewStream(); err != nil {
			return 0, err
		}
	}
	var rates []float64
	for range repeats + 1 {
		start := time.Now()
		for range copies {
			for i, c := range all {
				if err := streams[i].Copy(c.to.in, c.from.out, bufferBytes); err != nil {
					return 0, err
				}
			}
		}
		for _, s := range streams {
			if err := s.Sync(ctx); err != nil {
				return 0, err
			}
		}
		rates = append(rates, float64(len(all)*copies*bufferBytes)/float64(time.Since(start)))
	}
	return median(rates[1:]), nil
}
