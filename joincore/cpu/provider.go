// Package cpu is the provider that executes on the host's cores. It reads inputs in
// place, a stream runs on the goroutine that uses it, and every count is known when
// the call that returns it has returned.
//
// Execution is vectorised: an operation handles a chunk of a few thousand rows whose
// positions, keys and hash slots stay in the core's private caches.
//
// The package builds only for the platforms that raw.go names: their byte order is little-endian.
package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"unsafe"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Provider executes on all cores.
type Provider struct{}

// New returns the provider.
func New() *Provider { return &Provider{} }

// Name returns "cpu".
func (*Provider) Name() string { return "cpu" }

// Open starts an execution. Column-sized memory comes from mem.
func (*Provider) Open(mem joincore.Memory, opt device.Options) (device.Device, error) {
	d := &dev{mem: joincore.NewAccount("cores", mem), streams: opt.Streams, chunk: opt.ChunkRows, seed: opt.Seed, collide: opt.Collide, groups: opt.Groups, turns: opt.Turn(), inputs: make([]*space, opt.Inputs)}
	if d.streams <= 0 {
		d.streams = runtime.GOMAXPROCS(0)
	}
	if d.chunk <= 0 {
		d.chunk = device.ChunkRows
	}
	if d.seed == 0 { // random, so that users cannot construct colliding keys
		d.seed = rand.Uint64()
	}
	return d, nil
}

type dev struct {
	mem     *joincore.Account
	streams int
	chunk   int
	seed    uint64
	groups  int // of a table; 0: as the plan of an aggregate says
	collide bool
	turns   device.Turns
	inputs  []*space // by number

	lock     sync.Mutex
	idle     []*stream             // closed
	compiled map[expressionKey]any // values and conditions
}

func (d *dev) At() device.Location { return device.Host }
func (d *dev) Streams() int        { return d.streams }
func (d *dev) ChunkRows() int      { return d.chunk }

// alloc returns accounted memory of unspecified content for n values.
func alloc[T word](d *dev, n int) ([]T, error) {
	b, err := d.mem.Alloc(int64(max(n, 1)) * int64(size[T]()))
	if err != nil {
		return nil, err
	}
	return view[T](b)[:n], nil
}

// free gives back memory from alloc; v may be nil.
func free[T word](d *dev, v []T) {
	if v != nil {
		d.mem.Free(unsafe.Slice(start(v), 1)) // by its first byte
	}
}

// Close frees all remaining memory.
func (d *dev) Close() { d.mem.Close() }

// parallel runs tasks 0..n-1 on all streams. It returns the first error.
func (d *dev) parallel(ctx context.Context, n int, task func(s *stream, i int) error) error {
	tasks := device.NewTasks(n)
	return device.Workers(ctx, min(d.streams, n), func(ctx context.Context, _ int) error {
		s := d.newStream()
		defer s.Close()
		for i := range tasks.Deal(ctx, d.turns) {
			if err := task(s, i); err != nil {
				return err
			}
		}
		return nil
	})
}

func asSpace(s device.Space) *space {
	if sp, ok := s.(*space); ok {
		return sp
	}
	panic(fmt.Sprintf("a %T is not a space of this provider", s))
}

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
