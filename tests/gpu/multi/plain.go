//go:build cuda

package multi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/fabric"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/mesh"
	"gpujoin/tests/measure"
)

// plain returns the median time of the same bytes as one copy for each run, all at once: what
// the links carry if nothing has to be decided.
func (t *traffic) plain(repeats int) (_ time.Duration, err error) {
	streams, ends := make([]*driver.Stream, len(t.runs)), make([]*driver.Event, len(t.runs))
	defer func() {
		for i := range streams {
			if streams[i] != nil {
				err = errors.Join(err, streams[i].Close())
			}
			if ends[i] != nil {
				err = errors.Join(err, ends[i].Close())
			}
		}
	}()
	for i, r := range t.runs {
		c := t.fabric.Context(r.From)
		if streams[i], err = c.NewStream(); err != nil {
			return 0, err
		}
		if ends[i], err = c.NewEvent(false); err != nil {
			return 0, err
		}
	}
	var times []float64
	for i := range repeats + 1 {
		runtime.GC()
		start := time.Now()
		for i, r := range t.runs {
			source, target := r.Source.Buffer.(*fabric.Memory).Ptr(), r.Target.Buffer.(*fabric.Memory).Ptr()
			if err := errors.Join(streams[i].Copy(target, source, r.Bytes), streams[i].Record(ends[i])); err != nil {
				return 0, err
			}
		}
		for _, e := range ends {
			for {
				done, err := e.Done()
				if err != nil {
					return 0, err
				}
				if done {
					break
				}
			}
		}
		if i > 0 {
			times = append(times, float64(time.Since(start)))
		}
	}
	return time.Duration(measure.Median(times)), nil
}

// traced is a fabric that notes when copies begin and end.
type traced struct {
	*fabric.Fabric
	start time.Time
	steps []*step
}

// step is a copy, with times since the exchange began.
type step struct {
	from                    int
	bytes                   int64
	posted, returned, ended time.Duration
}

// Copy implements live.Fabric.
func (f *traced) Copy(h *mesh.Hop, pieces []live.Piece, done func(error)) {
	s := &step{from: h.From, posted: time.Since(f.start)}
	for _, p := range pieces {
		s.bytes += p.Bytes
	}
	f.steps = append(f.steps, s)
	f.Fabric.Copy(h, pieces, func(err error) {
		s.ended = time.Since(f.start)
		done(err)
	})
	s.returned = time.Since(f.start)
}

// trace executes an exchange whose copies one goroutine posts, and returns its steps.
func (t *traffic) trace(ctx context.Context, c exchange.Config) ([]string, error) {
	if len(t.runs) > 2 {
		return nil, nil
	}
	f := &traced{Fabric: t.fabric}
	runtime.GC()
	f.start = time.Now()
	stats, err := live.Exchange(ctx, f, c, t.runs)
	if err != nil {
		return nil, err
	}
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	lines := []string{fmt.Sprintf("%d MB a pair, packets of %d KB: %.0f us", t.runs[0].Bytes>>20, c.Packet>>10, us(stats.Time))}
	for _, s := range f.steps {
		lines = append(lines, fmt.Sprintf("  GPU %d: %6d KB posted at %4.0f us, call returned at %4.0f, ended by %4.0f",
			s.from, s.bytes>>10, us(s.posted), us(s.returned), us(s.ended)))
	}
	return lines, nil
}
