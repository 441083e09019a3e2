package exec

import (
	"math"
	"math/bits"

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
	return max(plus(e.flow(plan.Root, newColumns(plan.Output)), e.vectors()), 1<<20)
}

type estimator struct {
	*sized
	opt     Options
	visited int // nodes visited; each must be visited once
}

func newEstimator(plan *joincore.Checked, opt Options) *estimator {
	rows := func(input int) int64 { return clampRows(plan.Inputs[input].Rows) }
	return &estimator{sized: newSized(plan, planned, rows), opt: opt}
}

// flow returns the bytes in use while a node's rows stream.
func (e *estimator) flow(n joincore.Node, needed columns) int64 {
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

func (e *estimator) join(n *joincore.Join, needed columns) int64 {
	build, probe := e.sidesOf(n, needed, e.buildLeft(n))
	buildRows, probeRows := build.rows, probe.rows
	// A side's flow is asked for once: each join below would double the calls.
	buildFlow, probeFlow := e.flow(build.node, build.needed), e.flow(probe.node, probe.needed)
	buildStored, buildPeak := e.stored(build, buildFlow)
	algorithm := func(dense bool) joincore.Algorithm {
		if e.plan.Algorithm != 0 {
			return e.plan.Algorithm
		}
		a, _ := e.opt.Rates.Algorithm(costmodel.Side{
			BuildRows: buildRows, ProbeRows: probeRows, ProbePipelined: hasJoin(probe.node),
			Dense: func() (bool, error) { return dense, nil },
		})
		return a
	}
	if algorithm(false) == joincore.NPJ {
		return max(buildPeak, plus(buildStored, tableBytes(buildRows, probeRows), probeFlow))
	}
	unpartitioned := int64(0)
	if algorithm(true) == joincore.NPJ {
		unpartitioned = plus(buildStored, arrayBytes(buildRows, probeRows), probeFlow)
	}
	probeStored, probePeak := e.stored(probe, probeFlow)
	movedBuild, columns := e.moved(build)
	movedProbe, more := e.moved(probe)
	// The sides are divided before any table is made of a partition.
	moved := plus(movedBuild, movedProbe, max(e.divisionBytes(buildRows, probeRows, max(columns, more)), e.partitionTables(buildRows, probeRows)))
	if a := e.plan.Algorithm; a.UM() == joincore.SMJUM {
		moved = plus(moved, times(sortBytes, max(buildRows, probeRows)))
	}
	return max(unpartitioned, buildPeak, plus(buildStored, probePeak), plus(buildStored, probeStored, moved))
}

// sortBytes is what sorting a side takes per row: keys and positions, twice.
const sortBytes = 2 * (8 + 4)

// stored returns the bytes of a side as a space, and the peak while the space
// is made from a flow that uses flow bytes.
func (e *estimator) stored(s *side, flow int64) (stays, peak int64) {
	if _, ok := s.node.(*joincore.Scan); ok {
		return 0, 0
	}
	if _, ok := s.node.(*joincore.Aggregate); ok {
		return flow, flow
	}
	stays = times(s.rows, int64(4*len(inputsNeeded(s))+9))
	return stays, plus(stays, flow)
}

// moved returns the bytes of a partitioned side, and how many columns it may have: each
// that is carried has its validity in another one.
func (e *estimator) moved(s *side) (bytes int64, columns int) {
	base := !hasJoin(s.node)
	carried, inputs := s.carried(func(c joincore.ColumnRef) bool { return base && movable(e.schema.Column(c)) })
	width := 8 + 4*len(inputs)
	for _, c := range carried {
		width += e.schema.Column(c).Width
	}
	return times(s.rows, int64(width)), 1 + len(inputs) + 2*len(carried)
}

// tableBytes returns the size of the largest table that a provider builds for n
// rows: up to four entries of 16 bytes per key, or an array over the range of
// dense keys, plus a chain of 4 bytes per row for repeated keys, and the keys and
// positions that are divided among the table's regions.
func tableBytes(n, probe int64) int64 {
	return max(64*n, 4*min(probe, device.SmallRange)) + 4*n + 12*n + 1<<13
}

// arrayBytes is the largest table of very dense keys.
func arrayBytes(n, probe int64) int64 {
	return max(16*n, 4*min(probe, device.SmallRange)) + 4*n + 8*n + 1<<13
}

// carryWidth is the widest column, in bytes, that is moved with the key. For a
// wider one, a cache miss costs less than moving the value twice.
const carryWidth = 16

// clampRows limits an estimate to a range that cannot overflow.
func clampRows(rows float64) int64 {
	if !(rows > 0) {
		return 0
	}
	return int64(min(rows, 1e12))
}

// Estimates are of rows that a planner may have guessed, times widths, summed over all nodes
// of a plan. They stay at the largest number where they would exceed it.

// plus returns the sum of numbers that are not negative.
func plus(all ...int64) int64 {
	sum := int64(0)
	for _, n := range all {
		if sum > math.MaxInt64-n {
			return math.MaxInt64
		}
		sum += n
	}
	return sum
}

// times returns the product of numbers that are not negative.
func times(all ...int64) int64 {
	product := int64(1)
	for _, n := range all {
		high, low := bits.Mul64(uint64(product), uint64(n))
		if high != 0 || low > math.MaxInt64 {
			return math.MaxInt64
		}
		product = int64(low)
	}
	return product
}

// aggregate returns the bytes in use while the groups of an aggregate are made,
// or read. Rows may be partitioned before they are grouped, and each partition
// is freed when its groups are written.
func (e *estimator) aggregate(n *joincore.Aggregate) int64 {
	below := e.flow(n.Child, newColumns(joincore.AggregateColumns(n)))
	groups, rows := e.rows[n], e.rows[n.Child]
	width := int64(0)
	for _, c := range e.schema[n.ID] {
		width += int64(c.Width) + 1
		if c.Kind == joincore.Varlena {
			width += 4 + guessedTextBytes
		}
	}
	result := times(groups, width)
	for i := range n.Functions {
		if n.Functions[i].Kind > joincore.SumOfSquares {
			width += floatWidth
		}
	}
	tables := times(int64(e.streams()), min(groups, tableGroups), 2, width+groupWidth)
	stored := times(rows, width+rowWidth)
	blocks := plus(stored, stored/2) // some are not full
	spooled := int64(0)
	if groups > wideGroups {
		spooled = blocks
	}
	for i := range n.Functions {
		if n.Functions[i].Distinct { // values are groups, at most as many as rows
			spooled = plus(spooled, blocks)
			result = plus(result, stored)
		}
	}
	return plus(tables, spooled, max(below, result))
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
