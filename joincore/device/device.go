// Package device is the interface between join algorithms and the devices that
// execute them. Devices differ in the granularity at which they are fast, so there
// are two kinds:
//
//   - A Chunked device, such as a CPU, offers primitives over chunks of rows that stay
//     in a core's cache. The algorithms in joincore/exec use these primitives, and
//     results stream from one operator to the next.
//   - A Bulk device, such as a GPU, executes a whole step of a plan, such as a filter
//     or a join, over whole spaces, and chooses its own algorithm.
//
// Both read results in the same way: a Stream scans a space and gathers its rows into
// batches.
//
// Granularity. Partition, Sort, Build and MergeMatch are steps of a Chunked device
// only. A Bulk device has Prepare and Probe instead. It decides inside these, by the
// results of its first kernels, whether keys are partitioned, sorted or entered into
// one table, by how many bits, and which columns move along; it reuses a buffer as
// soon as the next kernel has read it. With these steps as separate calls it would
// have to wait for every count and to keep every buffer. Package bulk wraps a Chunked
// device as a Bulk one, so that the test suite runs the same plans over both.
//
// Futures. Results of a step or a stream may be pending. Callers must work with a
// device that leaves every result pending (package separate is one); a device may
// also wait by itself if its next step needs a number.
//
// Optional abilities are small interfaces that their users declare: to predict the
// time to return a result and to tell what it has copied from others (package exec), to
// read inputs together with others, and to exchange rows with them (package multi), to
// register host memory, and to name missing optional features. Lost tells whether a device is lost.
//
// Terms. A Space is a set of rows on the device: a base input or a result. A row of a
// space has a position. Rows is a chunk of result rows: for each space that
// contributes, the positions of its rows; columns are read only when needed. A Count
// is a number that may be known only to the device, a Future to be awaited. Streams,
// futures and segments have a Location: one of several devices, or the host.
//
// Life cycle. A Provider lives as long as the process. A Device belongs to one
// execution of a plan. Close, called after all streams are closed, frees everything
// that is left. A Stream belongs to one goroutine; its results are valid until the
// same producer is used again.
package device

import (
	"context"
	"math/bits"
	"sync"

	"gpujoin/joincore"
)

// Provider executes on one kind of device.
type Provider interface {
	Name() string
	// Open starts an execution. Its column-sized host memory comes from mem. The
	// device is Chunked or Bulk; one that is both runs as Bulk.
	Open(mem joincore.Memory, opt Options) (Device, error)
}

// Options are for tests and benchmarks. Zero values let the provider choose.
type Options struct {
	Streams   int    // number of streams to offer
	ChunkRows int    // maximum number of rows of a Rows
	EmitRows  int    // maximum number of rows of a space that Prepared emits
	Seed      uint64 // of the hash function
	Turns     Turns  // of a Chunked device; nil: no limit
	// Collide makes hashed keys collide, so that tests see whether the values are
	// compared.
	Collide bool
	// Groups is how many groups a table of an aggregation holds at most before
	// further ones are partitioned.
	Groups int
	// Inputs is the number of inputs, of results of aggregates and of an aggregate's
	// distinct values, for which a device may provide before concurrent steps read them.
	Inputs int
	// Common is what the execution has in common with those on other devices.
	Common Common
}

// Common is what executions of one plan on several devices have in common. Only the provider
// that has made a part knows what it is.
type Common struct {
	// Share is of inputs that each execution reads whole: they are uploaded once for all; nil:
	// each execution uploads all that it reads.
	Share any
	// Partition is of a join whose inputs the executions partition together; nil: each execution
	// joins the rows of its own inputs.
	Partition any
	// Team is of a join at which the executions exchange rows (Exchange); nil: they exchange none.
	Team any
}

// Device is a provider opened for one execution.
type Device interface {
	// At returns the device's location.
	At() Location
	// Streams returns the number of streams that keep the device busy.
	Streams() int
	// ChunkRows returns the maximum number of rows of a Rows.
	ChunkRows() int
	// Import makes a base input readable by the device. The caller does not change its
	// memory until Close. ErrInvalid if a vector is too short for its rows.
	Import(input int, r *joincore.Relation) (Space, error)
	// NewStream returns a stream, which executes its work in order.
	NewStream() (Stream, error)
	Close()
}

// Space is a set of rows on the device, in segments that are scanned separately.
type Space interface {
	// Segments returns the segments in order.
	Segments() []Segment
	// Release frees the space's memory after the steps that already read it. Chunks of
	// its rows become invalid.
	Release()
}

// Stream is a queue of work on the device, used by one goroutine.
type Stream interface {
	// At returns the location of the device that does the work.
	At() Location
	// Scan returns rows [first, first+n) of a segment, n <= ChunkRows.
	Scan(s Space, segment, first, n int) Rows
	// Gather writes rows of r, from the given one on, into dst from row `at` on, and
	// counts the written rows: fewer than asked for if dst is full. heap has the bytes
	// used by each column of dst and is updated. dst and heap belong to the device
	// until the count has been awaited.
	Gather(r Rows, from int, columns []joincore.ColumnRef, dst *joincore.Batch, at int, heap []int) Count
	// Measure writes the heap bytes that one row needs in each column. heap belongs to
	// the device until the count, which is the number of columns, has been awaited.
	Measure(r Rows, row int, columns []joincore.ColumnRef, heap []int) Count
	// Sync waits for all work queued on the stream and returns its error.
	Sync(ctx context.Context) error
	Close()
}

// Rows is a chunk of rows: positions in the spaces that contribute to it. An input
// that no space covers reads as NULL.
type Rows interface{}

// Location is where memory is and where work is done: a device number, or Host.
type Location int

// Host is the location of host memory and CPU cores.
const Host Location = -1

// Segment is a part of a space that is scanned separately.
type Segment struct {
	Rows int
	At   Location // where its row ids are, and its columns if it has any
}

// RowIDs divides 32-bit row ids among devices: the device number in the upper bits,
// the row number on that device in the others. With one device ids are row numbers;
// the zero value is for one device.
type RowIDs struct{ device uint }

// NewRowIDs returns the division for the given number of devices.
func NewRowIDs(devices int) RowIDs { return RowIDs{uint(bits.Len(uint(max(devices, 1) - 1)))} }

// reservedIDs of each device are unused, for numbers that kernels round up and for
// the one that means no row.
const reservedIDs = 1 << 20

// Rows returns the number of rows that a device may have.
func (r RowIDs) Rows() int64 { return 1<<(32-r.device) - reservedIDs }

// Bits returns how many bits of an id are the row's number.
func (r RowIDs) Bits() int { return 32 - int(r.device) }

// Future is a value that a device may still be computing. Futures may be awaited in
// any order, also concurrently with those of other devices.
type Future[T any] struct {
	known   T
	at      Location
	pending *pending[T] // nil: the value is known
}

// Count is a number of rows unless a method says otherwise.
type Count = Future[int64]

// Known returns a Future whose value is already on the host.
func Known[T any](v T) Future[T] { return Future[T]{known: v, at: Host} }

// Pending returns a Future of a device's value. wait returns the value; it is called
// once.
func Pending[T any](at Location, wait func(context.Context) (T, error)) Future[T] {
	return Future[T]{at: at, pending: &pending[T]{wait: wait}}
}

// At returns the location of the device that computes the value.
func (f Future[T]) At() Location { return f.at }

// Wait returns the value, or the error of any work queued on the same stream before
// it, all of which is then done. If ctx ends first, it returns ctx's cause and the
// value is lost. In any case the device no longer writes to the memory of the result.
// Later calls return the same outcome. One goroutine waits at a time.
func (f Future[T]) Wait(ctx context.Context) (T, error) {
	if f.pending == nil {
		return f.known, nil
	}
	return f.pending.outcome(ctx)
}

// pending is shared by the copies of a future.
type pending[T any] struct {
	mu    sync.Mutex
	wait  func(context.Context) (T, error) // nil: value and err are set
	value T
	err   error
}

func (p *pending[T]) outcome(ctx context.Context) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wait != nil {
		p.value, p.err = p.wait(ctx)
		p.wait = nil
	}
	return p.value, p.err
}

// Transferring is a provider whose device reads no memory of the host but by transfers.
type Transferring interface {
	// TransferMethods returns the methods by which inputs can reach the device, and the others
	// with the reason.
	TransferMethods() []TransferMethod
}

// TransferMethod is a way in which inputs reach a device.
type TransferMethod struct {
	Name   string
	Reason string // why the device does not have it; "": it has
}

// Checker is a provider that does not execute every plan.
type Checker interface {
	// Check returns an error that wraps ErrUnsupported where the provider
	// cannot execute a plan, before it is opened.
	Check(plan *joincore.Checked) error
}

// Check asks a provider whether it executes a plan; one that is no Checker
// executes all.
func Check(p Provider, plan *joincore.Checked) error {
	if c, ok := p.(Checker); ok {
		return c.Check(plan)
	}
	return nil
}
