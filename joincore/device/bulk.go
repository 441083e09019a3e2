package device

import (
	"context"

	"gpujoin/joincore"
)

// Bulk is a device that executes whole steps of a plan over whole spaces.
//
// Steps are asynchronous where the device likes: a call may return before its
// work is done, and its error may come from a later call that needs the work.
// What a space holds is awaited by Rows; Segments of a result may be asked
// for only after that. A space is used by one goroutine at a time, and spaces
// are released in the reverse order of their making where that can be told,
// so that a device may keep its memory as a stack.
type Bulk interface {
	Device
	// Rows returns how many rows a space has. Awaiting it returns the error
	// of the steps that make the space.
	Rows(s Space) Count
	// Filter makes a space of the rows of s for which e is true. s must stay
	// until the new space is released.
	Filter(ctx context.Context, s Space, e joincore.Expr, parameters []joincore.Parameter, keep Keep) (Space, error)
	// Collect begins a space that is gathered from several.
	Collect(ctx context.Context, keep Keep) (Collection, error)
	// Prepare makes the build side of a join ready to be probed. build must
	// stay until the join is released.
	Prepare(ctx context.Context, spec *JoinSpec, build Space) (Prepared, error)
}

// Keep says what of a step's result is read later. A result holds no more
// than that; what it leaves out cannot be read.
type Keep struct {
	// Columns are read by the next step or returned by the plan: fixed-width
	// values that are worth having at hand. Whether the device moves them or
	// fetches them by row number when they are read is its own choice.
	Columns []joincore.ColumnRef
	// Late are read only by steps after the next one, such as the foreign keys
	// of later joins: fetched by row number right before they are read, of
	// rows that are still there, they cost less than being moved by every
	// join up to then (GFTR, section 5.2.7).
	Late []joincore.ColumnRef
	// Inputs are those whose row numbers have to be part of the result: here
	// or further up, columns of theirs are Late or of variable length.
	Inputs []int
}

// JoinSpec describes a join of a Bulk device.
type JoinSpec struct {
	Match
	Algorithm joincore.Algorithm // 0: the device chooses
	Bits      int                // radix bits; 0: the device chooses
	Leftover  bool               // build rows are returned after all probing
	Found     bool               // of them those that have found a partner, else the others
	KeepBuild Keep               // what is read of the build side's rows in the result
	KeepProbe Keep               // what is read of the probe side's
	// BuildRows and ResultRows are the planner's estimates; 0: unknown.
	// Match.ProbeRows is that of the probe side.
	BuildRows, ResultRows int64
	// ProbeInput says that the probe side is an input as it is, probed once.
	ProbeInput bool
}

// Collection is a space in the making.
type Collection interface {
	// Append adds the rows of s, which need not stay after it has returned.
	Append(ctx context.Context, s Space) error
	// Space ends the collection and returns its rows. It is called once, and
	// hands over everything that Release would have freed.
	Space(ctx context.Context) (Space, error)
	// Release frees what a collection holds that has not become a space.
	Release()
}

// Prepared is a join whose build side is ready.
type Prepared interface {
	// Probe joins the rows of a space, which must stay until it returns. It
	// hands the result to emit in spaces of bounded size, one after the other,
	// from whatever goroutine; each is valid during the call only, and emit
	// never releases it. An error of emit ends Probe and is its error.
	//
	// emit may use the device: the steps that follow a join run inside it.
	Probe(ctx context.Context, probe Space, emit func(Space) error) error
	// Leftover emits the build rows that have found a partner in any Probe, or
	// have not. It is called once, after all probing, where the spec says so.
	Leftover(ctx context.Context, emit func(Space) error) error
	// Report says what the join has done so far.
	Report() joincore.JoinStats
	Release()
}
