package exec

import (
	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// Estimate returns the private memory, in bytes, that executing plan is
// expected to need in addition to its inputs and result batches, according to
// the planner's row estimates. It plans like Run on a Chunked device and sums
// the memory that may be in use at the same time.
func Estimate(plan *joincore.Checked, opt Options) int64 {
	e := newEstimator(plan, opt)
	return int64(min(max(e.flow(plan.Root, newColumns(plan.Output))+e.vectors(), 1<<20), 1<<62))
}

// estimator computes in floating point: rows that a planner may have guessed, times widths,
// summed over all nodes, may exceed an integer.
type estimator struct {
	*sized
	opt     Options
	visited int // nodes visited; each must be visited once
}

func newEstimator(plan *joincore.Checked, opt Options) *estimator {
	rows := func(input int) int64 { return clampRows(plan.Inputs[input].Rows) }
	return &estimator{sized: newSized(plan, planned, rows, nil), opt: opt}
}

// flow returns the bytes in use while a node's rows stream.
func (e *estimator) flow(n joincore.Node, needed columns) float64 {
	e.visited++
	switch n := n.(type) {
	case *joincore.Filter:
		return e.flow(n.Child, needed.with(joincore.Columns(n.Predicate)...))
	case *joincore.Join:
		return e.join(n, needed)
	case *joincore.Aggregate:
		return e.aggregate(n)
	}
	return 0
}

func (e *estimator) join(n *joincore.Join, needed columns) float64 {
	build, probe := e.sidesOf(n, needed, e.buildLeft(n))
	// A side's flow is asked for once: each join below would double the calls.
	buildFlow, probeFlow := e.flow(build.node, build.needed), e.flow(probe.node, probe.needed)
	buildStored, buildPeak := e.stored(build, buildFlow)
	algorithm := func(dense bool) joincore.Algorithm {
		if e.plan.Algorithm != 0 {
			return e.plan.Algorithm
		}
		a, _ := e.opt.Rates.Algorithm(costmodel.Side{
			BuildRows: build.rows, ProbeRows: probe.rows, ProbePipelined: hasJoin(probe.node),
			Dense: func() (bool, error) { return dense, nil },
		})
		return a
	}
	if algorithm(false) == joincore.NPJ {
		return max(buildPeak, buildStored+tableBytes(build, probe)+probeFlow)
	}
	unpartitioned := 0.0
	if algorithm(true) == joincore.NPJ {
		unpartitioned = buildStored + arrayBytes(build, probe) + probeFlow
	}
	probeStored, probePeak := e.stored(probe, probeFlow)
	movedBuild, columns := e.moved(build)
	movedProbe, more := e.moved(probe)
	// The sides are divided before any table is made of a partition.
	moved := movedBuild + movedProbe + max(e.divisionBytes(build.rows, probe.rows, max(columns, more)), e.partitionTables(build.rows, probe.rows))
	if a := e.plan.Algorithm; a.UM() == joincore.SMJUM {
		moved += sortBytes * float64(max(build.rows, probe.rows))
	}
	return max(unpartitioned, buildPeak, buildStored+probePeak, buildStored+probeStored+moved)
}

// sortBytes is what sorting a side takes per row: keys and positions, twice.
const sortBytes = 2 * (8 + 4)

// stored returns the bytes of a side as a space, and the peak while the space
// is made from a flow that uses flow bytes.
func (e *estimator) stored(s *side, flow float64) (stays, peak float64) {
	if _, ok := s.node.(*joincore.Scan); ok {
		return 0, 0
	}
	if _, ok := s.node.(*joincore.Aggregate); ok {
		return flow, flow
	}
	stays = float64(s.rows) * float64(4*len(inputsNeeded(s))+9)
	return stays, stays + flow
}

// moved returns the bytes of a partitioned side, and how many columns it may have: each
// that is carried has its validity in another one.
func (e *estimator) moved(s *side) (bytes float64, columns int) {
	base := !hasJoin(s.node)
	carried, inputs := s.carried(func(c joincore.ColumnRef) bool { return base && e.schema.Column(c).Movable() })
	width := 8 + 4*len(inputs)
	for _, c := range carried {
		width += e.schema.Column(c).Width
	}
	return float64(s.rows) * float64(width), 1 + len(inputs) + 2*len(carried)
}

// tableBytes returns the size of the largest table that a provider builds: up to four entries
// of 16 bytes per key, or an array over the range of dense keys, plus a chain of 4 bytes per
// row for repeated keys, and the keys and positions that are divided among the table's regions; and the
// bits of sparse keys.
func tableBytes(build, probe *side) float64 {
	n := float64(build.rows)
	return max(64*n, 4*float64(min(probe.rows, device.SmallRange))) + 4*n + 12*n + memberBytes(probe) + 1<<13
}

// arrayBytes is the largest table of very dense keys.
func arrayBytes(build, probe *side) float64 {
	n := float64(build.rows)
	return max(16*n, 4*float64(min(probe.rows, device.SmallRange))) + 4*n + 8*n + memberBytes(probe) + 1<<13
}

// memberBytes is the largest size of the bits of sparse keys: one word for four rows that probe.
func memberBytes(probe *side) float64 { return min(2*float64(probe.rows), 1<<20) }

// clampRows limits an estimate to a range that cannot overflow.
func clampRows(rows float64) int64 {
	if !(rows > 0) {
		return 0
	}
	return int64(min(rows, 1e12))
}

// aggregate returns the bytes in use while the groups of an aggregate are made,
// or read. Rows may be partitioned before they are grouped, and each partition
// is freed when its groups are written.
func (e *estimator) aggregate(n *joincore.Aggregate) float64 {
	below := e.flow(n.Child, newColumns(joincore.AggregateColumns(n)))
	groups, rows := float64(e.rows[n]), float64(e.rows[n.Child])
	width := 0.0
	for _, c := range e.schema[n.ID] {
		width += float64(c.Width) + 1
		if c.Kind == joincore.Varlena {
			width += 4 + guessedTextBytes
		}
	}
	result := groups * width
	for i := range n.Functions {
		if n.Functions[i].Kind > joincore.SumOfSquares {
			width += floatWidth
		}
	}
	tables := float64(e.streams()) * min(groups, tableGroups) * 2 * (width + groupWidth)
	stored := rows * (width + rowWidth)
	blocks := 1.5 * stored // some are not full
	spooled := 0.0
	if groups > wideGroups {
		spooled = blocks
	}
	for i := range n.Functions {
		if n.Functions[i].Distinct { // values are groups, at most as many as rows
			spooled += blocks
			result += stored
		}
	}
	return tables + spooled + max(below, result)
}

// tableGroups is up to how many groups a worker has in a table of its own, and
// groupWidth what one takes of it besides its values. Where groups are wide, a
// table has as few as wideGroups before rows are partitioned; rowWidth is what
// such a row takes. floatWidth is what a sum of floats takes besides its value.
const (
	tableGroups = 1 << 16
	wideGroups  = 1 << 14
	groupWidth  = 64
	rowWidth    = 16
	floatWidth  = 8 * joincore.FloatDigits
)

// aggregate adds the vectors of keys and arguments.
func (p *pipelines) aggregate(n *joincore.Aggregate, e *estimator) {
	width := p.flow(n.Child, e) + groupingWidth*(1+len(n.Keys)+len(n.Carry)+len(n.Functions))
	for _, key := range n.Keys {
		p.registers = p.registers.or(ofValue(key))
	}
	for i := range n.Functions {
		p.condition(n.Functions[i].Filter)
		p.registers = p.registers.or(registers{values: 1, truths: 1, subsets: 1}.and(ofValue(n.Functions[i].Arg)))
	}
	p.widest = max(p.widest, width)
}

// groupingWidth is what a row of a chunk takes for each key and function.
const groupingWidth = 40
