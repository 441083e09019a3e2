package separate

import (
	"context"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// background is the context for waits of the device itself, whose work ends
// with its own context.
var background = context.Background()

func (s *stream) Scan(sp device.Space, segment, first, n int) device.Rows {
	out, in := s.scan.next(), s.dev.use(sp)
	s.do(func() error {
		space, err := in.await(background)
		if err != nil {
			return err
		}
		out.inner = s.inner.Scan(space, segment, first, n)
		return nil
	})
	return out
}

func (s *stream) Marked(sp device.Space, segment, first, n int, found bool) (device.Rows, device.Count) {
	out, in, count := s.marked.next(), s.dev.use(sp), new(device.Count)
	before := s.dev.sofar() // includes the step that makes a table whose marks are read
	s.do(func() error {
		if before != nil {
			<-before
		}
		space, err := in.await(background)
		if err != nil {
			return err
		}
		out.inner, *count = s.inner.Marked(space, segment, first, n, found)
		return nil
	})
	return out, s.count(count, nil)
}

func (s *stream) BuildPartition(ctx context.Context, p device.Partitions, partition int, m *device.Match) (device.Table, error) {
	in := s.dev.use(p)
	return s.table(func() (device.Table, error) {
		space, err := in.await(background)
		if err != nil {
			return nil, err
		}
		return s.inner.BuildPartition(ctx, space.(device.Partitions), partition, m)
	}), nil
}

func (s *stream) MergeMatch(build device.Sorted, from int64, m *device.Match) (device.Table, error) {
	in := s.dev.use(build)
	return s.table(func() (device.Table, error) {
		space, err := in.await(background)
		if err != nil {
			return nil, err
		}
		return s.inner.MergeMatch(space.(device.Sorted), from, m)
	}), nil
}

// table returns a table that the stream makes, for later work of the stream.
func (s *stream) table(make func() (device.Table, error)) *table {
	t := s.dev.newTable()
	s.do(func() error {
		inner, err := make()
		t.finish(inner, err)
		return err
	})
	return t
}

func (s *stream) Append(r device.Rows, t device.Tuples) error {
	in, to := live(r), s.dev.use(t)
	s.do(func() error { return s.inner.Append(in.inner, to.inner.(device.Tuples)) })
	return nil
}

type filter struct {
	producer
	s     *stream
	inner device.Filter
}

func (s *stream) NewFilter(e joincore.Expr, parameters []joincore.Parameter) device.Filter {
	f := &filter{s: s}
	s.do(func() error {
		f.inner = s.inner.NewFilter(e, parameters)
		return nil
	})
	return f
}

func (f *filter) Apply(r device.Rows) (device.Rows, device.Count, error) {
	in, out, count := live(r), f.next(), new(device.Count)
	f.s.do(func() (err error) {
		out.inner, *count, err = f.inner.Apply(in.inner)
		return err
	})
	return out, f.s.count(count, nil), nil
}

type prober struct {
	producer
	s     *stream
	inner device.Prober
	in    *rows
}

func (s *stream) NewProber(m *device.Match) device.Prober {
	p := &prober{s: s}
	s.do(func() error {
		p.inner = s.inner.NewProber(m)
		return nil
	})
	return p
}

func (p *prober) Start(ctx context.Context, r device.Rows, t device.Table) error {
	p.in = live(r)
	in, table := p.in, p.s.dev.useTable(t)
	p.s.do(func() error {
		inner, err := table.await(background)
		if err != nil {
			return err
		}
		return p.inner.Start(ctx, in.inner, inner)
	})
	return nil
}

func (p *prober) Next(ctx context.Context) (device.Rows, device.Count, error) {
	live(p.in)
	out, count := p.next(), new(device.Count)
	p.s.do(func() (err error) {
		out.inner, *count, err = p.inner.Next(ctx)
		return err
	})
	return out, p.s.count(count, nil), nil
}

// Gather writes into a staging batch in the device's memory. The rows are copied to the
// host's batch only when the count is awaited.
func (s *stream) Gather(r device.Rows, from int, columns []joincore.ColumnRef, dst *joincore.Batch, at int, heap []int) device.Count {
	in, count, far := live(r), new(device.Count), slices.Clone(heap)
	s.do(func() error {
		if err := s.stage(dst); err != nil {
			return err
		}
		*count = s.inner.Gather(in.inner, from, columns, &s.staging.Batch, at, far)
		return nil
	})
	return s.count(count, func() {
		copy(heap, far)
		for i, v := range s.staging.Columns {
			copy(dst.Columns[i].Values, v.Values)
			copy(dst.Columns[i].Validity, v.Validity)
			copy(dst.Columns[i].Heap, v.Heap)
		}
	})
}

// staging is the device's copy of a batch that the host is filling.
type staging struct {
	joincore.Batch
	owned [][]byte
}

// stage makes the staging batch a copy of dst, because other streams fill dst, too,
// between the steps of this one.
func (s *stream) stage(dst *joincore.Batch) error {
	s.unstage()
	s.staging.Rows = dst.Rows
	for i := range dst.Columns {
		var v joincore.Vector
		for _, part := range []struct{ from, to *[]byte }{
			{&dst.Columns[i].Values, &v.Values}, {&dst.Columns[i].Validity, &v.Validity}, {&dst.Columns[i].Heap, &v.Heap},
		} {
			b, err := s.dev.mem.copy(*part.from)
			if err != nil {
				return err
			}
			if *part.to = b; b != nil {
				s.staging.owned = append(s.staging.owned, b)
			}
		}
		s.staging.Columns = append(s.staging.Columns, v)
	}
	return nil
}

func (s *stream) unstage() {
	for _, b := range s.staging.owned {
		s.dev.mem.Free(b[:max(len(b), 1)])
	}
	s.staging = staging{}
}

func (s *stream) Measure(r device.Rows, row int, columns []joincore.ColumnRef, heap []int) device.Count {
	in, count, far := live(r), new(device.Count), slices.Clone(heap)
	s.do(func() error {
		*count = s.inner.Measure(in.inner, row, columns, far)
		return nil
	})
	return s.count(count, func() { copy(heap, far) })
}
