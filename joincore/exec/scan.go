package exec

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// morselChunks is the number of chunks in a morsel.
const morselChunks = 8

// morsel is a run of rows within a segment.
type morsel struct{ segment, first, n int }

func morsels(segments []device.Segment, chunk int) []morsel {
	return morselsOf(segments, chunk*morselChunks)
}

// morselsOf returns the morsels of segments, of at most size rows each.
func morselsOf(segments []device.Segment, size int) []morsel {
	var out []morsel
	for segment, s := range segments {
		for at := 0; at < s.Rows; at += size {
			out = append(out, morsel{segment, at, min(size, s.Rows-at)})
		}
	}
	return out
}

// Scan is the source of all rows of a space.
type Scan struct {
	space device.Space
	parts []morsel
	chunk int
}

// NewScan returns the source of all rows of a space of d.
func NewScan(d device.Chunked, s device.Space) *Scan {
	return &Scan{space: s, parts: morsels(s.Segments(), d.ChunkRows()), chunk: d.ChunkRows()}
}

// Space returns the scanned space.
func (s *Scan) Space() device.Space { return s.space }

func (s *Scan) Tasks() int { return len(s.parts) }

func (s *Scan) Open(st device.ChunkStream) func(context.Context, int, Push) error {
	return func(ctx context.Context, task int, push Push) error {
		return scanMorsel(ctx, st, s.space, s.parts[task], s.chunk, push)
	}
}

// scanMorsel pushes the rows of a morsel, chunk by chunk.
func scanMorsel(ctx context.Context, st device.Stream, s device.Space, m morsel, chunk int, push Push) error {
	for at := 0; at < m.n; at += chunk {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := min(chunk, m.n-at)
		if err := push(st.Scan(s, m.segment, m.first+at, n), n); err != nil {
			return err
		}
	}
	return nil
}

// Leftover is the source of the build rows with, or without, a partner. It must
// run after all probes that mark build rows.
type Leftover struct {
	Device device.Chunked
	Space  device.Space
	Found  bool
}

func (l *Leftover) Tasks() int {
	return len(morsels(l.Space.Segments(), l.Device.ChunkRows()))
}

func (l *Leftover) Open(st device.ChunkStream) func(context.Context, int, Push) error {
	chunk := l.Device.ChunkRows()
	parts := morsels(l.Space.Segments(), chunk)
	return func(ctx context.Context, task int, push Push) error {
		m := parts[task]
		for at := 0; at < m.n; at += chunk {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r, count := st.Marked(l.Space, m.segment, m.first+at, min(chunk, m.n-at), l.Found)
			n, err := count.Wait(ctx)
			if err != nil {
				return err
			}
			if n > 0 {
				if err := push(r, int(n)); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// FilterStep passes the rows for which a predicate is true.
type FilterStep struct {
	Context    context.Context
	Predicate  joincore.Expr
	Parameters []joincore.Parameter
}

func (f *FilterStep) Open(st device.ChunkStream, push Push) Push {
	filter := st.NewFilter(f.Predicate, f.Parameters)
	return func(r device.Rows, _ int) error {
		out, count, err := filter.Apply(r)
		if err != nil {
			return err
		}
		n, err := count.Wait(f.Context)
		if err != nil || n == 0 {
			return err
		}
		return push(out, int(n))
	}
}
