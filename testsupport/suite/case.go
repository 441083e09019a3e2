package suite

import (
	"fmt"
	"math/rand/v2"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// joinCase is a case of the matrix: a join of two inputs.
type joinCase struct {
	algorithm   joincore.Algorithm
	buildLeft   bool
	kind        joincore.Kind
	keys        keyType
	dist        distribution
	left, right int // rows
	segment     int // rows
	chunk       int // rows per vector operation
	emit        int // maximum rows per space that a Bulk step emits
	batch       int // rows
	bits        int
	streams     int
	residual    bool
	seed        uint64
}

func (c joinCase) String() string {
	return fmt.Sprintf("%v/build-left=%v/kind=%d/%s/%s/%dx%d/segment=%d/chunk=%d/emit=%d/batch=%d/bits=%d/streams=%d/residual=%v/collide=%v/seed=%d",
		c.algorithm, c.buildLeft, c.kind, c.keys.name, c.dist.name, c.left, c.right,
		c.segment, c.chunk, c.emit, c.batch, c.bits, c.streams, c.residual, c.collide(), c.seed)
}

// meaningful reports false for cross joins that are large for no purpose.
func (c joinCase) meaningful() bool {
	return !(c.keys.name == "none" && c.left*c.right > 1<<16)
}

func (c joinCase) collide() bool { return c.seed%2 == 0 }

func (c joinCase) options() exec.Options {
	return exec.Options{
		Decide: func(int, costmodel.Decision) costmodel.Decision {
			return costmodel.Decision{Algorithm: c.algorithm, BuildLeft: c.buildLeft, Bits: c.bits}
		},
		Device: device.Options{Streams: c.streams, ChunkRows: c.chunk, EmitRows: c.emit, Seed: c.seed, Collide: c.collide()},
	}
}

// plan joins two inputs and returns all visible columns.
func (c joinCase) plan() (*joincore.Plan, []*joincore.Relation) {
	r := rand.New(rand.NewPCG(c.seed, 1))
	inputs := []*joincore.Relation{
		generate(r, c.keys.left, c.left, c.segment, c.dist),
		generate(r, c.keys.right, c.right, c.segment, c.dist),
	}
	join := &joincore.Join{Kind: c.kind, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1}}
	for i, class := range c.keys.class {
		join.Keys = append(join.Keys, joincore.KeyPair{
			Left: joincore.ColumnRef{Input: 0, Column: i}, Right: joincore.ColumnRef{Input: 1, Column: i}, Class: class,
		})
	}
	if c.residual {
		join.Residual = &joincore.Or{Args: []joincore.Expr{
			&joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{Input: 0, Column: len(c.keys.left)}, Right: joincore.ColumnRef{Input: 1, Column: len(c.keys.right) + 3}},
			&joincore.Not{Arg: &joincore.IsNull{Arg: joincore.ColumnRef{Input: 1, Column: len(c.keys.right) + 1}}},
		}}
	}
	plan := &joincore.Plan{
		Inputs: []joincore.Input{{Columns: inputs[0].Columns}, {Columns: inputs[1].Columns}},
		Root:   join,
	}
	for i, rel := range inputs {
		if i == 1 && (c.kind == joincore.Semi || c.kind == joincore.Anti) {
			break
		}
		for j := range rel.Columns {
			plan.Output = append(plan.Output, joincore.ColumnRef{Input: i, Column: j})
		}
	}
	return plan, inputs
}
