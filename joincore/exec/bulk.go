package exec

import (
	"context"
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// bulk runs a plan on a device that executes whole steps. Build sides are
// collected and prepared; probe sides are pushed through the joins above them
// space by space, and the root's result is gathered into the sink.
type bulk struct {
	*planState
	dev      device.Bulk
	joins    []joincore.JoinStats // in post-order
	returned time.Duration
}

func newBulk(e *planState, d device.Bulk) *bulk {
	return &bulk{planState: e, dev: d, joins: make([]joincore.JoinStats, len(e.number))}
}

func (b *bulk) joinStats() []joincore.JoinStats { return b.joins }

// gather returns the phase of the download of the result. Its name differs from
// that of gathers on the device.
func (b *bulk) gather() joincore.Phase {
	p := joincore.Phase{Name: "return", Actual: b.returned}
	if d, ok := b.dev.(returnPredictor); ok {
		width := int64(0)
		for _, c := range b.plan.Output {
			if column := b.schema.Column(c); column.Kind == joincore.Fixed {
				width += int64(column.Width)
			}
		}
		p.Predicted = d.PredictReturn(width * b.rows[b.plan.Root])
	}
	return p
}

// returnPredictor is a device that can predict the time of a download.
type returnPredictor interface {
	// PredictReturn returns the predicted time to download the given number of
	// bytes of a result.
	PredictReturn(bytes int64) time.Duration
}

func (b *bulk) run(out *Output) error {
	g := NewGatherer(b.dev, out)
	defer g.Close()
	defer func() { b.returned = g.Took() }()
	defer b.releaseGroups(b.plan.Root)
	returned := newColumns(b.plan.Output)
	return b.node(b.plan.Root, wanted{all: returned, soon: returned}, func(s device.Space) error {
		if n, err := b.dev.Rows(s).Wait(b.ctx); err != nil || n == 0 {
			return err
		}
		return g.Gather(b.ctx, s)
	})
}

// push passes on result rows in a space that is valid during the call.
type push func(device.Space) error

// node executes a node. w lists the columns that are read of its rows.
func (b *bulk) node(n joincore.Node, w wanted, push push) error {
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	switch n := n.(type) {
	case *joincore.Scan:
		return push(b.spaces[n.Input])
	case *joincore.Filter:
		return b.node(n.Child, b.below(n, w, joincore.Columns(n.Predicate)), func(s device.Space) error {
			out, err := b.filter(n, w, s)
			if err != nil {
				return err
			}
			defer out.Release()
			return push(out)
		})
	case *joincore.Aggregate:
		s, err := b.aggregate(n)
		if err != nil {
			return err
		}
		return push(s)
	default:
		return b.join(n.(*joincore.Join), w, push)
	}
}

func (b *bulk) filter(n *joincore.Filter, w wanted, s device.Space) (device.Space, error) {
	return b.dev.Filter(b.ctx, s, n.Predicate, b.plan.Parameters, b.keep(w, joincore.Sources(n)))
}

func (b *bulk) join(n *joincore.Join, w wanted, push push) (err error) {
	build, probe, decision := b.decided(n, w.all)
	plan := PlanKind(n.Kind, decision.BuildLeft, device.Match{
		Build: build.key, Probe: probe.key, Residual: n.Residual, Parameters: b.plan.Parameters, ProbeRows: probe.rows,
	})
	space, release, err := b.stored(build.node, b.sideOf(n, build, w))
	if err != nil {
		return err
	}
	defer release()
	_, scan := probe.node.(*joincore.Scan)
	join, err := b.dev.Prepare(b.ctx, &device.JoinSpec{
		Match: plan.Match, Algorithm: decision.Algorithm, Bits: decision.Bits,
		Leftover: plan.Leftover, Found: plan.Found,
		KeepBuild: b.keep(w, build.inputs), KeepProbe: b.keep(w, probe.inputs),
		BuildRows: b.rows[build.node], ResultRows: clampRows(n.Rows), ProbeInput: scan,
		ProbeOnce: !hasJoin(probe.node), // others are pushed as their joins emit them
	}, space)
	if err != nil {
		return err
	}
	defer join.Release()
	defer func() {
		stats := &b.joins[b.number[n]]
		*stats = join.Report()
		stats.BuildLeft = decision.BuildLeft
	}()
	push = b.guarded(push)
	err = b.node(probe.node, b.sideOf(n, probe, w), func(s device.Space) error {
		return join.Probe(b.ctx, s, push)
	})
	if err == nil && plan.Leftover {
		err = join.Leftover(b.ctx, push)
	}
	return err
}

// guarded wraps push to recover from panics, for the goroutines of a device,
// which do not.
func (b *bulk) guarded(push push) push {
	return func(s device.Space) (err error) {
		defer device.Recover(&err)
		if b.ctx.Err() != nil {
			return context.Cause(b.ctx)
		}
		return push(s)
	}
}

// stored returns all rows of a node as one space. Base inputs are used in
// place, aggregates and filters of both return one space, and joins are collected.
func (b *bulk) stored(n joincore.Node, w wanted) (device.Space, func(), error) {
	switch n := n.(type) {
	case *joincore.Scan:
		return b.spaces[n.Input], func() {}, nil
	case *joincore.Aggregate:
		s, err := b.aggregate(n)
		return s, func() {}, err
	}
	if f, ok := n.(*joincore.Filter); ok && !hasJoin(n) {
		child, release, err := b.stored(f.Child, b.below(f, w, joincore.Columns(f.Predicate)))
		if err != nil {
			return nil, nil, err
		}
		s, err := b.filter(f, w, child)
		if err != nil {
			release()
			return nil, nil, err
		}
		return s, func() { s.Release(); release() }, nil
	}
	return b.collected(n, w)
}

func (b *bulk) collected(n joincore.Node, w wanted) (device.Space, func(), error) {
	c, err := b.dev.Collect(b.ctx, b.keep(w, joincore.Sources(n)))
	if err != nil {
		return nil, nil, err
	}
	err = b.node(n, w, func(s device.Space) error { return c.Append(b.ctx, s) })
	if err != nil {
		c.Release()
		return nil, nil, err
	}
	s, err := c.Space(b.ctx)
	if err != nil {
		c.Release()
		return nil, nil, err
	}
	return s, s.Release, nil
}

// aggregate groups the rows of its child and returns the groups. Filters right below it
// are part of the step: their rows are never stored. The groups stay until an aggregate
// above has read them, or until the end: columns of theirs may be fetched by row number.
func (b *bulk) aggregate(n *joincore.Aggregate) (device.Space, error) {
	child, where := unfiltered(n.Child)
	groups, err := b.dev.Aggregate(b.ctx, b.aggregateSpec(n), where)
	if err != nil {
		return nil, err
	}
	defer groups.Release()
	defer func() { b.groups[slices.Index(b.aggregates, n)] = groups.Report() }()
	// Carried columns are fetched by row number at the end.
	own := *n
	own.Carry = nil
	read := newColumns(joincore.AggregateColumns(&own)).with(joincore.Columns(where)...)
	err = b.node(child, wanted{all: read, soon: read, numbered: inputsOf(n.Carry)}, b.guarded(func(s device.Space) error {
		return groups.Add(b.ctx, s)
	}))
	if err != nil {
		return nil, err
	}
	space, err := groups.Space(b.ctx)
	if err != nil {
		return nil, err
	}
	b.releaseGroups(n.Child)
	rows, err := b.dev.Rows(space).Wait(b.ctx)
	if err != nil {
		space.Release()
		return nil, err
	}
	b.spaces[n.ID], b.rows[n] = space, rows
	return space, nil
}

// releaseGroups releases the groups of the aggregates of a tree.
func (b *bulk) releaseGroups(n joincore.Node) {
	for _, a := range slices.Backward(joincore.Aggregates(n)) {
		if s := b.spaces[a.ID]; s != nil {
			s.Release()
			b.spaces[a.ID] = nil
		}
	}
}

// unfiltered returns what filters on top of a node take, and all of their conditions in
// the order in which they are evaluated; nil: there are none.
func unfiltered(n joincore.Node) (joincore.Node, joincore.Expr) {
	var all []joincore.Expr
	for {
		f, ok := n.(*joincore.Filter)
		if !ok {
			break
		}
		all = append(all, f.Predicate)
		n = f.Child
	}
	slices.Reverse(all)
	switch len(all) {
	case 0:
		return n, nil
	case 1:
		return n, all[0]
	}
	return n, &joincore.And{Args: all}
}

// wanted is what is read of the rows of a node, further up in the plan.
type wanted struct {
	all  columns
	soon columns // what the next step reads, or the plan returns
	// numbered are the inputs whose row numbers some step above keeps.
	numbered []int
}

// below returns the columns that the child of n must return, given that w is required
// of n: those that n reads, those that the plan returns, and those that later steps
// read, which may be gathered later (GFTR, section 5.2.7).
func (b *bulk) below(n joincore.Node, w wanted, reads []joincore.ColumnRef) wanted {
	soon := newColumns(b.plan.Output)
	if _, ok := n.(*joincore.Filter); ok {
		soon = w.soon // what a filter returns is as good as what it takes
	}
	return wanted{all: w.all.with(reads...), soon: soon.with(reads...), numbered: b.keep(w, joincore.Sources(n)).Inputs}
}

// sideOf returns what is wanted of a side of a join.
func (b *bulk) sideOf(n *joincore.Join, s *side, w wanted) wanted {
	return b.below(n, w, append(joincore.Columns(n.Residual), s.key.Columns()...))
}

// keep says which of the wanted columns the rows of some inputs have to carry.
func (b *bulk) keep(w wanted, inputs []int) device.Keep {
	var k device.Keep
	byNumber := func(input int) {
		if !slices.Contains(k.Inputs, input) {
			k.Inputs = append(k.Inputs, input)
		}
	}
	for _, i := range w.numbered {
		if slices.Contains(inputs, i) {
			byNumber(i)
		}
	}
	for _, c := range w.all.of(inputs) {
		switch {
		case b.schema.Column(c).Kind != joincore.Fixed:
			byNumber(c.Input)
		case w.soon[c]:
			k.Columns = append(k.Columns, c)
		default:
			k.Late = append(k.Late, c)
			byNumber(c.Input)
		}
	}
	return k
}
