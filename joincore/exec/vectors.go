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
	proberWidth   = 36 // a join's keys, members and pairs
	positionWidth = 4  // of the rows of a chunk in one input
)

// conditionBytes is the memory of one comparison of a condition, for all
// workers.
const conditionBytes = 160

// vectors returns the bytes of all workers' vectors. Pipelines run one after
// the other, so that the widest one counts.
func (e *estimator) vectors() float64 {
	chunk := e.opt.Device.ChunkRows
	if chunk <= 0 {
		chunk = device.ChunkRows
	}
	var p pipelines
	top := p.flow(e.plan.Root, e)
	width := streamWidth + max(p.widest, top) + p.registers.width(len(joincore.Sources(e.plan.Root)))
	return float64(e.streams()*chunk*width + conditionBytes*p.terms)
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
func (e *estimator) divisionBytes(buildRows, probeRows int64, columns int) float64 {
	rows := max(buildRows, probeRows)
	parts := int64(1)<<costmodel.Bits(buildRows) + 1
	ranges := min(int64(e.streams())*8, rows/leastRange) + 1
	return partWidth*float64(rows) + float64(4*parts*ranges+lineBytes*parts*int64(columns*e.streams()))
}

// partitionTables returns the bytes of the tables of partitions that workers have at the
// same time. A table has entries for the distinct keys of an average partition, or twice as
// many, and a chain through all rows of its own, if keys repeat. One key may be all rows:
// each worker that probes with a part of a partition has a table of all of it, but such a
// part has at least 4 times the rows of the table (dividePartitions).
func (e *estimator) partitionTables(buildRows, probeRows int64) float64 {
	streams, build := float64(e.streams()), float64(buildRows)
	entries := min(buildRows, max(leastRange, 2*(buildRows>>costmodel.Bits(buildRows))))
	chains := min(streams*chainWidth*build, chainWidth*build+float64(probeRows))
	return streams*entryWidth*float64(entries) + chains
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

// registers are the vectors as long as chunks that evaluating an expression takes on a
// Chunked device: values, truths, and subsets of the rows.
type registers struct{ values, truths, subsets int }

func (r registers) and(o registers) registers {
	return registers{r.values + o.values, r.truths + o.truths, r.subsets + o.subsets}
}

func (r registers) or(o registers) registers {
	return registers{max(r.values, o.values), max(r.truths, o.truths), max(r.subsets, o.subsets)}
}

// Bytes a row of a chunk. A value may have 128 bits and be NULL, or be bytes.
const (
	valueWidth  = 8 + 8 + 24 + 1
	truthWidth  = 1
	subsetWidth = 4 // and positionWidth for each input
)

// width returns the bytes a row of a chunk whose rows come from a number of inputs.
func (r registers) width(inputs int) int {
	return r.values*valueWidth + r.truths*truthWidth + r.subsets*(subsetWidth+inputs*positionWidth)
}

// ofValue returns the registers that a value takes besides the one that it is written to.
func ofValue(v joincore.Value) (r registers) {
	switch v := v.(type) {
	case *joincore.Arithmetic:
		return ofValue(v.Left).or(registers{values: 1}.and(ofValue(v.Right)))
	case *joincore.DatePart:
		return ofValue(v.Arg)
	case *joincore.Substring:
		return ofValue(v.Arg)
	case *joincore.Truth:
		r, _ := ofCondition(v.Arg)
		return registers{truths: 1}.and(r)
	case *joincore.Coalesce:
		for i, a := range v.Args {
			some := registers{}
			if i > 0 {
				some = registers{values: 1, subsets: 1}
			}
			r = r.or(some.and(ofValue(a)))
		}
	case *joincore.Case:
		var before registers // of the arms before
		for _, w := range v.Whens {
			before.truths++
			condition, _ := ofCondition(w.Condition)
			then := registers{values: 1, subsets: 1}.and(ofValue(w.Then))
			r = r.or(before.and(condition)).or(before.and(then))
			before.subsets += 2
		}
		r = r.or(before.and(registers{values: 1}).and(ofValue(v.Else)))
	}
	return r
}

// ofCondition returns the registers that a condition takes besides the one that it is
// written to, and how many nodes it has.
func ofCondition(e joincore.Expr) (r registers, nodes int) {
	switch e := e.(type) {
	case *joincore.And:
		return ofLogic(e.Args)
	case *joincore.Or:
		return ofLogic(e.Args)
	case *joincore.Not:
		r, nodes = ofCondition(e.Arg)
		return r, nodes + 1
	case *joincore.Compare:
		return registers{values: 1}.and(ofValue(e.Left)).or(registers{values: 2}.and(ofValue(e.Right))), 1
	case *joincore.IsNull:
		r = ofValue(e.Arg)
	case *joincore.In:
		r = ofValue(e.Arg)
	case *joincore.Like:
		r = ofValue(e.Arg)
	}
	return registers{values: 1}.and(r), 1
}

// maxNarrowings bounds how often rows are dropped from a chunk. After 15 steps that each
// drop a quarter, a chunk of 4096 rows has about 55 left; further steps do not pay.
const maxNarrowings = 15

// ofLogic is ofCondition of AND and OR. The argument that takes most truths goes first,
// and each further one finds a register taken. Rows that are decided may be left out
// after each argument. Where no argument can fail, a quarter is, at least.
func ofLogic(args []joincore.Expr) (r registers, nodes int) {
	most, second := 0, -1
	nodes = 1
	fails := false
	for i, a := range args {
		of, n := ofCondition(a)
		nodes += n
		switch {
		case i == 0:
			most = of.truths
		case of.truths > most:
			most, second = of.truths, most
		default:
			second = max(second, of.truths)
		}
		r = r.or(of)
		fails = fails || joincore.CanFail(a)
	}
	r.truths = max(most, second+1)
	narrower := max(len(args)-1, 0)
	if !fails {
		narrower = min(narrower, maxNarrowings)
	}
	return r.and(registers{truths: narrower, subsets: narrower}), nodes
}
