package device

import (
	"context"
	"slices"

	"gpujoin/joincore"
)

// Bulk is a device that executes whole steps of a plan over whole spaces.
//
// Steps may be asynchronous: a call may return before its work is done, and its
// error may come from a later call that needs the result. Rows awaits a space;
// Segments of a result may be called only after that. A space is used by one
// goroutine at a time. Spaces are released in reverse order of their creation
// whenever possible, so that a device may manage its memory as a stack.
type Bulk interface {
	Device
	// Rows returns the number of rows of a space. Awaiting it returns the error of
	// the steps that produce the space.
	Rows(s Space) Count
	// Filter returns a space of the rows of s for which e is true. The caller keeps s
	// until it has released the new space.
	Filter(ctx context.Context, s Space, e joincore.Expr, parameters []joincore.Parameter, keep Keep) (Space, error)
	// Collect begins a space to which other spaces are appended.
	Collect(ctx context.Context, keep Keep) (Collection, error)
	// Prepare makes the build side of a join ready for probing. The caller keeps build
	// until it has released the join.
	Prepare(ctx context.Context, spec *JoinSpec, build Space) (Prepared, error)
	// Aggregate begins to group the rows for which where is true; nil: all rows.
	Aggregate(ctx context.Context, spec *AggregateSpec, where joincore.Expr) (Groups, error)
}

// Keep says which parts of a step's result are read later. Anything else cannot be
// read from it.
type Keep struct {
	// Columns are read by the next step or returned by the plan: fixed-width columns
	// that are worth materialising. Whether the device moves them, or gathers them by
	// row id when they are read, is its own choice.
	Columns []joincore.ColumnRef
	// Late are read only by steps after the next one, such as the foreign keys of
	// later joins. Gathering them by row id right before they are read, for the rows
	// that remain, costs less than moving them through every join until then (GFTR,
	// section 5.2.7).
	Late []joincore.ColumnRef
	// Inputs are those whose row ids must be part of the result because this step or a
	// later one reads columns of theirs that are Late or of variable length.
	Inputs []int
}

// JoinSpec describes a join of a Bulk device.
type JoinSpec struct {
	Match
	Algorithm joincore.Algorithm // 0: the device chooses
	Bits      int                // radix bits; 0: the device chooses
	Leftover  bool               // return build rows after all probing
	Found     bool               // of these, the rows that have found a partner; else the others
	KeepBuild Keep               // which parts of the build side's rows are read later
	KeepProbe Keep               // likewise of the probe side
	// BuildRows and ResultRows are the planner's estimates; 0: unknown. The probe
	// side's is Match.ProbeRows.
	BuildRows, ResultRows int64
	// ProbeInput says that the probe side is an unchanged input, probed once.
	ProbeInput bool
	// ProbeOnce says that Probe is called once, with all rows of the probe side.
	ProbeOnce bool
}

// Groups are rows in groups, under construction.
type Groups interface {
	// Add groups the rows of s. The caller may release s afterwards.
	Add(ctx context.Context, s Space) error
	// Space ends the grouping and returns a row for each group: the derived input. It
	// is called once. ErrArithmetic where a function's result is out of range.
	Space(ctx context.Context) (Space, error)
	// Report says what was done so far.
	Report() joincore.AggregateStats
	// Release frees what the groups hold. The space stays.
	Release()
}

// Collection is a space under construction.
type Collection interface {
	// Append adds the rows of s. The caller may release s afterwards.
	Append(ctx context.Context, s Space) error
	// Space ends the collection and returns its rows. It is called once; the space
	// then owns everything that Release would have freed.
	Space(ctx context.Context) (Space, error)
	// Release frees the collection's memory that no space owns.
	Release()
}

// Prepared is a join whose build side is ready to be probed.
type Prepared interface {
	// Probe joins the rows of a space, which the caller keeps until Probe returns. It
	// passes the result to emit in spaces of bounded size, one after the other, on any
	// goroutine. Each is valid only during the call, and emit does not release it. If
	// emit fails, Probe ends and returns its error.
	//
	// emit may use the device: the steps after a join run inside it.
	Probe(ctx context.Context, probe Space, emit func(Space) error) error
	// Leftover emits the build rows that have found a partner in any Probe, or those
	// that have not (JoinSpec.Found). It is called once, after all probing, if the
	// spec has Leftover.
	Leftover(ctx context.Context, emit func(Space) error) error
	// Report returns statistics of the join so far.
	Report() joincore.JoinStats
	Release()
}

// Carried divides the columns of k into those that move with the key of a side and the others,
// whose values are fetched by row id: inputs are theirs, each once. Inputs whose row ids k
// asks for come first.
func (k Keep) Carried(moves func(joincore.ColumnRef) bool) (carried []joincore.ColumnRef, inputs []int) {
	inputs = slices.Clone(k.Inputs)
	for _, ref := range slices.Concat(k.Columns, k.Late) {
		if moves(ref) {
			carried = append(carried, ref)
		} else if !slices.Contains(inputs, ref.Input) {
			inputs = append(inputs, ref.Input)
		}
	}
	return carried, inputs
}
