// Package costmodel decides how a join is executed: which side is built, with
// which algorithm, and into how many partitions. It decides by measured rates.
// Decisions affect speed, never results.
package costmodel

import (
	"math"
	"math/bits"

	"gpujoin/joincore"
)

// Points is the number of build sizes at which rates are measured.
const Points = 8

// PointRows returns the number of build rows at point i: 2^(10 + 2i).
func PointRows(i int) int64 { return 1 << (10 + 2*i) }

// GroupPoints is the number of numbers of groups at which rates are measured.
const GroupPoints = 4

// GroupRows returns the number of groups at point i: 2^(4 + 6i).
func GroupRows(i int) int64 { return 1 << (4 + 6*i) }

// Rates are the costs of joins and aggregations on this machine, in ns per row
// of one core while all cores work, for 8-byte keys and one 8-byte payload
// column per side.
type Rates struct {
	BuildNS  [Points]float64
	ProbeNS  [Points]float64
	ColumnNS float64 // ns per row of a further 8-byte output column
	// GroupNS is the time to group a row by an 8-byte key and to add an 8-byte
	// column to one sum; the others are what a further function of the group,
	// an arithmetic operation and a comparison add.
	GroupNS     [GroupPoints]float64
	FunctionNS  float64
	OperationNS float64
	ConditionNS float64
	Machine     Machine // what native plans depend on
	// NPJRows is the number of build rows from which partitioning was faster;
	// 0: not measured.
	NPJRows int64
}

// AssumeGroups sets the rates of aggregation to those of two cores of a virtual
// machine.
func (r *Rates) AssumeGroups() {
	r.GroupNS = [GroupPoints]float64{8, 10, 25, 90}
	r.FunctionNS, r.OperationNS, r.ConditionNS = 1, 0.5, 0.7
}

// Build returns the cost per row of building a table of n rows, by
// interpolation.
func (r *Rates) Build(n int64) float64 { return at(&r.BuildNS, n) }

// Probe returns the cost per row of probing a table of n rows.
func (r *Rates) Probe(n int64) float64 { return at(&r.ProbeNS, n) }

// at interpolates between points on a logarithmic scale.
func at(v *[Points]float64, n int64) float64 {
	x := (math.Log2(float64(max(n, 1))) - 10) / 2
	x = min(max(x, 0), Points-1)
	i := min(int(x), Points-2)
	f := x - float64(i)
	return v[i]*(1-f) + v[i+1]*f
}

// Join describes a join before it runs.
type Join struct {
	LeftRows, RightRows int64
	// LeftPipelined and RightPipelined report whether a side is the result of a
	// pipeline, which can probe without being stored first.
	LeftPipelined, RightPipelined bool
}

// Decision is how a join is executed.
type Decision struct {
	Algorithm joincore.Algorithm
	BuildLeft bool
	Bits      int // radix bits of partitioned joins
}

// BuildLeft reports whether to build the left side. The smaller side is built
// unless it would have to be stored for that and the other side is not much
// larger.
func (j Join) BuildLeft() bool {
	left, right := float64(j.LeftRows), float64(j.RightRows)
	if j.LeftPipelined {
		left *= storeFactor
	}
	if j.RightPipelined {
		right *= storeFactor
	}
	return left < right
}

// storeFactor is what building a side costs more when it is a pipeline's
// result: it has to be stored, and its payload is reached by row number.
const storeFactor = 2

// defaultNPJRows is used where the machine was not measured: a table of that
// many rows is beyond the cores' own caches but cheap to probe.
const defaultNPJRows = 1 << 19

// denseNPJRows is up to where an array over the range of dense keys is left
// unpartitioned: a probe is one miss of the cache, which many rows share.
const denseNPJRows = 1 << 25

// pipelineFactor is by how much a build side may be larger before a probe side
// that comes out of a pipeline is stored and partitioned: that costs storing
// it, and its payload is no longer read in order.
const pipelineFactor = 8

// Side describes the sides of a join when its algorithm is chosen.
type Side struct {
	BuildRows, ProbeRows int64
	ProbePipelined       bool
	ResultRows           int64 // the planner's estimate; 0: unknown
	Columns              int   // payload columns that can be moved with the key
	// Dense reports whether the build side's keys are dense. It is called only
	// if the answer matters.
	Dense func() (bool, error)
}

// Algorithm chooses the algorithm for a build side that is already stored. It
// returns the error of s.Dense.
func (r *Rates) Algorithm(s Side) (joincore.Algorithm, error) {
	limit := int64(defaultNPJRows)
	if r != nil && r.NPJRows > 0 {
		limit = r.NPJRows
	}
	if s.ProbePipelined {
		limit *= pipelineFactor
	}
	// Few probe rows cannot pay for partitioning both sides.
	if s.BuildRows <= limit || s.ProbeRows < s.BuildRows/8 {
		return joincore.NPJ, nil
	}
	if s.BuildRows <= denseNPJRows {
		if dense, err := s.Dense(); dense || err != nil {
			return joincore.NPJ, err
		}
	}
	return s.materialisation(), nil
}

// What a value costs in ns: moved with its key, a row number moved with it, a
// value fetched from anywhere by row number.
const (
	moveNS   = 2.5
	moveIDNS = 2
	missNS   = 10
)

// materialisation decides between gathering from transformed relations, which
// moves every value, and from untransformed ones, which misses the cache for
// every value of the result: few columns or many matches are for the first
// (GFTR, figure 17, by costs of a CPU).
func (s Side) materialisation() joincore.Algorithm {
	rows := float64(s.BuildRows + s.ProbeRows)
	if s.ResultRows <= 0 || rows == 0 {
		return joincore.PHJOM
	}
	columns := float64(s.Columns)
	om := columns * moveNS * rows / 2 // each column belongs to one side
	um := moveIDNS*rows + columns*missNS*float64(s.ResultRows)
	if um < om {
		return joincore.PHJUM
	}
	return joincore.PHJOM
}

// partitionRows is the size of a build partition whose table and keys lie in
// a core's own cache.
const partitionRows = 1 << 14

// maxBits bounds the fan-out of the one partition pass.
const maxBits = 11

// Bits returns the number of radix bits for a build side of the given number of
// rows.
func Bits(build int64) int {
	return min(max(bits.Len64(uint64(max(build, 1)-1)/partitionRows), 1), maxBits)
}

// Machine says how fast one core of this machine is at what PostgreSQL's own plans do,
// and how large its caches are. The extension's planner scales its rates of native plans
// by it, so that they hold on machines that differ from the one where they were measured.
type Machine struct {
	ProbeNS       float64 // time of a probe of a hash table in the core's own cache
	LoadNS        float64 // time of a load from memory whose address is the result of the load before
	CachedBytes   float64 // size up to which random accesses hit a cache
	UncachedBytes float64 // size from which on they all miss
}

// TypicalMachine was measured on a virtual machine with cores of about 3 GHz, on which
// the planner's rates of native plans were measured, too.
var TypicalMachine = Machine{ProbeNS: 3.9, LoadNS: 170, CachedBytes: 2e6, UncachedBytes: 128e6}

// plausible reports whether m can hold measured values.
func (m *Machine) plausible() bool {
	for _, ns := range []float64{m.ProbeNS, m.LoadNS} {
		if !(ns > 0 && ns < 1e4) {
			return false
		}
	}
	return m.CachedBytes >= 1<<10 && m.CachedBytes < m.UncachedBytes && m.UncachedBytes <= 1<<40
}

// PairColumns is how many columns the join returns whose rates Rates.BuildNS and
// Rates.ProbeNS are. ColumnNS is added for each further one.
const PairColumns = 2

// CoreJoin describes a join on cores before it runs.
type CoreJoin struct {
	Algorithm                    joincore.Algorithm // 0: as chosen by Rates.Algorithm
	BuildRows, ProbeRows, Result int64
	Columns                      int // columns written per result row
}

// moved is the share of a partitioned join's rates that is moving rows into
// partitions; the rest is matching.
const moved = 0.5

// Predict returns the predicted time of each phase of a join on the given
// number of cores, in ms. The prediction is empty for algorithms without
// measured rates.
func (r *Rates) Predict(j CoreJoin, cores int) Prediction {
	of := func(rows int64, ns float64) float64 { return float64(rows) * ns / float64(max(cores, 1)) / perMS }
	ns := r.Probe(j.BuildRows)
	ns = max(ns-PairColumns*r.ColumnNS, ns/2) // what it was measured with is gathered, too
	build, probe := of(j.BuildRows, r.Build(j.BuildRows)), of(j.ProbeRows, ns)
	var p Prediction
	switch j.Algorithm {
	case joincore.NPJ, 0:
		p = Prediction{{PhaseBuild, build}, {PhaseMatch, probe}}
	case joincore.PHJUM, joincore.PHJOM:
		p = Prediction{{PhaseBuildSide, build * moved}, {PhaseProbeSide, probe * moved}, {PhaseMatch, (build + probe) * (1 - moved)}}
	default:
		return nil
	}
	return append(p, PhaseMS{PhaseGather, of(j.Result, r.ColumnNS*float64(j.Columns))})
}
