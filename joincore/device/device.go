// Package device is the interface between join algorithms and what executes
// them. It is cut where a device can be fast, and devices differ in that:
//
//   - A Chunked device, such as a CPU, offers primitives over chunks of rows
//     that stay in a core's cache. The algorithms in joincore/algo are written
//     over them, and results stream from one operator to the next.
//   - A Bulk device, such as a GPU, executes a whole step of a plan at a time
//     over whole spaces: a filter, a join. What it does inside is its own.
//
// Both read results alike: a Stream scans a space and gathers its rows into
// batches.
//
// Cut. Partition, Sort, Build and MergeMatch are steps of a Chunked device only.
// A Bulk one has Prepare and Probe in their place: whether keys are partitioned,
// sorted or entered into one table, by how many bits, and what is carried along
// is decided in there, by what the first kernels find out, and a buffer is used
// again as soon as the next kernel has read it. A caller who stood between those
// steps would have to wait for every count and keep every buffer.
// Package bulk makes a Chunked device a Bulk one, so that the suite runs the same
// plans over both.
//
// Futures. What a step or a stream returns may be pending: devices of package
// separate leave all so that may be, and what uses this package must be right
// with them. A device may as well wait itself where its next step needs a number.
//
// More than this a provider or device offers by small interfaces that stand with
// whoever asks for them: to predict how long a result takes on its way back
// (package run), to register memory of the host, to say what it does without, and
// whether its device is lost (the worker process). None of them is needed.
//
// Vocabulary. A Space is a set of rows that lies on the device: a base input,
// or a result. A row of a space has a position. Rows is a chunk of result
// rows in the making: for each space that contributes, the positions of its
// rows. Columns are not touched before somebody needs them. A number that
// only the device knows is a Count, a Future, which has to be awaited. Streams,
// futures and segments say at which Location they are: one device of several,
// or the host.
//
// Life cycle. A Provider lives as long as the process. A Device belongs to
// one execution of a plan; Close frees whatever is left, after every stream
// has been closed. A Stream belongs to one goroutine; what it returns is valid
// until the same producer is used again.
package device

import (
	"context"

	"gpujoin/joincore"
)

// Provider executes on one kind of device.
type Provider interface {
	Name() string
	// Open starts an execution whose column-sized memory on the host comes
	// from mem. The device is Chunked or Bulk; one that is both runs as Bulk.
	Open(mem joincore.Memory, opt Options) (Device, error)
}

// Options are for tests and benchmarks; zero values leave the choice to the
// provider.
type Options struct {
	Streams   int    // how many streams to offer
	ChunkRows int    // how many rows Rows has at most
	EmitRows  int    // how many rows a space has that Prepared emits, at most
	Seed      uint64 // of the hash function
	Turns     Turns  // of a Chunked device; nil: no limit
	// Collide makes keys that are hashes collide, so that a test sees whether
	// their values are compared.
	Collide bool
}

// Device is a provider opened for one execution.
type Device interface {
	// At says which device it is.
	At() Location
	// Streams says how many streams keep the device busy.
	Streams() int
	// ChunkRows says how many rows a Rows has at most.
	ChunkRows() int
	// Import makes a base input readable by the device. Its memory must stay
	// as it is until Close. ErrInvalid when a vector is too short for its rows.
	Import(input int, r *joincore.Relation) (Space, error)
	// NewStream returns a stream of work that is done in order.
	NewStream() (Stream, error)
	Close()
}

// Space is a set of rows on the device, in segments that are scanned apart.
type Space interface {
	// Segments returns the segments in order.
	Segments() []Segment
	// Release frees the space's memory, behind the steps that have been asked
	// to read it. Chunks of its rows may not be used after.
	Release()
}

// Stream is a queue of work on the device, used by one goroutine.
type Stream interface {
	// At says which device does the work.
	At() Location
	// Scan returns rows [first, first+n) of a segment, n <= ChunkRows.
	Scan(s Space, segment, first, n int) Rows
	// Gather writes rows from the given one on into dst, from row at on, and
	// counts those that it wrote: fewer than asked for when dst is full. heap
	// holds the bytes used by each column of dst, and is updated. dst and heap
	// belong to the device until the count has been awaited.
	Gather(r Rows, from int, columns []joincore.ColumnRef, dst *joincore.Batch, at int, heap []int) Count
	// Measure writes the heap bytes that one row needs in each column; heap
	// belongs to the device until the count (of columns) has been awaited.
	Measure(r Rows, row int, columns []joincore.ColumnRef, heap []int) Count
	// Sync waits for everything that was asked for and returns its error.
	Sync(ctx context.Context) error
	Close()
}

// Rows is a chunk of rows: positions in the spaces that contribute to it. An
// input that no space of the chunk covers reads as NULL.
type Rows interface{}
