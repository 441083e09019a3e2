package exec

import (
	"runtime"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// Bytes that the workers of a Chunked device hold per row of a chunk. They
// depend on the number of workers and the shape of the plan, not on the number
// of input rows.
const (
	streamWidth   = 64 // a worker's scratch
	proberWidth   = 24 // a join's keys and pairs
	positionWidth = 4  // of the rows of a chunk in one input
)

// conditionBytes is the memory of one comparison of a condition, for all
// workers.
const conditionBytes = 160

// vectors returns the bytes of all workers' vectors. Pipelines run one after
// the other, so that the widest one counts.
func (e *estimator) vectors() int64 {
	chunk := e.opt.Device.ChunkRows
	if chunk <= 0 {
		chunk = device.ChunkRows
	}
	var p pipelines
	top := p.flow(e.plan.Root, e)
	width := streamWidth + max(p.widest, top) + p.registers.width(len(joincore.Sources(e.plan.Root)))
	return int64(e.streams())*int64(chunk)*int64(width) + conditionBytes*int64(p.terms)
}

// pipelines adds up what the steps of a plan's pipelines hold.
type pipelines struct {
	widest    int       // bytes a row of a chunk of the widest pipeline that has ended
	registers registers // most that an expression needs
	terms     int       // of all conditions
}

// flow returns the bytes a row of a chunk of the pipeline that n's rows leave.
func (p *pipelines) flow(n joincore.Node, e *estimator) int {
	switch n := n.(type) {
	case *joincore.Filter:
		p.condition(n.Predicate)
		return p.flow(n.Child, e) + positionWidth*len(joincore.Sources(n))
	case *joincore.Join:
		p.condition(n.Residual)
		build, probe := n.Right, n.Left
		if e.buildLeft(n) {
			build, probe = probe, build
		}
		p.widest = max(p.widest, p.flow(build, e))
		return p.flow(probe, e) + proberWidth + positionWidth*len(joincore.Sources(n))
	case *joincore.Aggregate:
		p.aggregate(n, e)
	}
	return 0
}

func (p *pipelines) condition(e joincore.Expr) {
	if e == nil {
		return
	}
	r, terms := ofCondition(e)
	p.registers = p.registers.or(registers{truths: 1}.and(r))
	p.terms += terms
}

// divisionBytes is what partitioning either side takes in addition to the partitions:
// a row's partition, the places of each range in each partition, and a line of each
// column for each partition and worker. columns are those of the side that has more.
func (e *estimator) divisionBytes(buildRows, probeRows int64, columns int) int64 {
	rows := max(buildRows, probeRows)
	parts := int64(1)<<costmodel.Bits(buildRows) + 1
	ranges := min(int64(e.streams())*8, rows/leastRange) + 1
	return plus(times(partWidth, rows), times(4, parts, ranges), lineBytes*parts*int64(columns*e.streams()))
}

// partitionTables returns the bytes of the tables of partitions that workers have at the
// same time. A table has entries for the distinct keys of an average partition, or twice as
// many, and a chain through all rows of its own, if keys repeat. One key may be all rows:
// each worker that probes with a part of a partition has a table of all of it, but such a
// part has at least 4 times the rows of the table (partitionJoin).
func (e *estimator) partitionTables(buildRows, probeRows int64) int64 {
	streams := int64(e.streams())
	entries := min(buildRows, max(leastRange, 2*(buildRows>>costmodel.Bits(buildRows))))
	chains := min(times(streams, chainWidth, buildRows), plus(times(chainWidth, buildRows), probeRows))
	return plus(times(streams, entryWidth, entries), chains)
}

const (
	entryWidth = 8 * 4 // bytes of a key's entries: up to 8 row numbers
	chainWidth = 4     // bytes of a row in a chain
)

const (
	partWidth  = 2       // bytes of a partition's number
	leastRange = 1 << 14 // rows that a worker counts at a time, at least
	lineBytes  = 64
)

func (e *estimator) streams() int {
	if n := e.opt.Device.Streams; n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}
