package cpu

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Evaluator computes expressions over the rows of one input of a plan, outside of an
// execution. Its methods are safe for concurrent use.
type Evaluator struct {
	dev        *dev
	space      *space
	parameters []joincore.Parameter
}

// Values are the values of an expression in some rows: integers of at most 8 bytes or
// payloads of bytes, which lie in the input or in the expression.
type Values struct {
	Ints  []int64  // unless they are bytes; 0 where NULL
	Bytes [][]byte // unless they are integers
	Nulls []uint8  // 1: NULL; nil: none is
}

// NewEvaluator returns an evaluator of expressions over input number `input` of a plan with
// these parameters. ErrInvalid if a vector of the relation is too short.
func NewEvaluator(input int, r *joincore.Relation, parameters []joincore.Parameter) (*Evaluator, error) {
	d := &dev{streams: 1, chunk: device.ChunkRows, turns: device.Unlimited{}, inputs: make([]*space, input+1)}
	s, err := d.Import(input, r)
	if err != nil {
		return nil, err
	}
	return &Evaluator{dev: d, space: s.(*space), parameters: parameters}, nil
}

// Each computes v in rows [first, first+n) of a segment, a chunk after the other, and
// passes each chunk's values to visit, which keeps none of them. Errors are those of visit
// and of ctx; ErrArithmetic; ErrUnsupported and ErrInvalid for bytes that cannot be read.
func (e *Evaluator) Each(ctx context.Context, v joincore.Value, segment, first, n int, visit func(first int, v *Values) error) error {
	st := e.dev.newStream()
	defer st.Close()
	compiled := e.dev.value(v, e.parameters)
	out := newVector(e.dev.chunk)
	return st.eachRows(ctx, e.space, []span{{segment, first, n}}, func(r *rows) error {
		if err := compiled.eval(st, r, out); err != nil {
			return err
		}
		err := visit(first, out.values())
		first += r.n
		return err
	})
}

func (v *vector) values() *Values {
	out := &Values{}
	if v.text {
		out.Bytes = v.bytes[:v.n]
	} else {
		out.Ints = v.lo[:v.n]
	}
	if v.nullable {
		out.Nulls = v.nulls[:v.n]
	}
	return out
}
