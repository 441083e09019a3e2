//go:build cuda

package outofcore

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// Resources is one execution of a plan, as far as a join out of core needs it:
// windows of inputs, columns on the device, and memory. Package cuda implements it.
// Steps run in one goroutine at a time; Memory and Method may be used by others as
// well.
type Resources interface {
	// Device returns what all executions on the device share.
	Device() *Device
	// Memory returns the host memory of the job.
	Memory() joincore.Memory
	// Method returns how host memory is copied to or from the device; nil stands for
	// memory that is not page-locked.
	Method(host []byte) links.Method
	// Main returns the queue of all steps. Its arena is the stack of device memory.
	Main() *rowid.Queue
	// Event returns an event that belongs to the execution.
	Event() (*driver.Event, error)
	// Staging returns a page-locked buffer of at least the given number of bytes. The
	// next call may return the same one.
	Staging(bytes int64) (*driver.Host, error)
	// Downloads returns the stream for copies to host memory.
	Downloads() (Downloads, error)
	// Reserve allocates device memory until free, or until the execution ends.
	Reserve(bytes int64) (at driver.Ptr, free func(), err error)
	// SyncUploads waits until no upload reads host memory any more.
	SyncUploads() error

	// AllRows returns the view of the input that a space consists of. ok is false if the
	// space is something else, or not all rows of an input.
	AllRows(s device.Space) (v View, ok bool)
	// Windows cuts an input into views of neighbouring segments. Each has the given
	// number of rows or somewhat more, but for the last one.
	Windows(all View, rows int64) []View
	// View returns a view of rows of an input.
	View(input int, rows Rows) View
	// NewRing allocates a ring whose halves have the given number of bytes.
	NewRing(bytes int64) (Ring, error)
	// PrepareByID prepares the build side of a join by row id. reason says why no other
	// algorithm executes the join.
	PrepareByID(ctx context.Context, spec *device.JoinSpec, build device.Space, reason string) (device.Prepared, error)
}

// View is a set of rows of an input whose columns are uploaded separately.
type View interface {
	// Input returns the number of the input in the plan, and the input.
	Input() (int, *hostinput.Input)
	// Segments returns the segments [low, high) that a window consists of.
	Segments() (low, high int)
	Rows() int64
	// Bytes returns the device memory of columns.
	Bytes(columns []int) int64
	// Fetch starts the upload of columns. What fails here fails again in Column.
	Fetch(ctx context.Context, columns []int)
	// Column returns a column, which it uploads if it has not been. Later work of the
	// main stream may read it.
	Column(ctx context.Context, column int) (rowid.Column, error)
	// Space returns the rows as a space.
	Space(ctx context.Context) (device.Space, error)
	// Close frees the columns when the work queued on the main stream is done.
	Close()
}

// Ring is device memory for consecutive views: while one view is joined, the next
// one is uploaded into the other half.
type Ring interface {
	// Use makes a view take its memory from a half, 0 or 1, as long as it has enough.
	Use(half int, v View)
	// Close frees the memory. All views must have been closed.
	Close()
}

// Downloads is a stream for copies to host memory.
type Downloads interface {
	Stream() *driver.Stream
	// Follow makes later copies wait for all steps so far.
	Follow() error
	// Copy queues a copy. It waits for the copy if that is staged.
	Copy(ctx context.Context, to []byte, from driver.Ptr) error
}

// Rows are rows of an input, in an order of their own.
type Rows interface {
	// Count returns the number of rows.
	Count() int64
	// Columns returns the columns that lie in the order of the rows. If numbered is
	// false these are the only ones, and there are no row ids.
	Columns() (columns []int, numbered bool)
	// Number returns the row id of a row.
	Number(row int64) uint32
	// Numbers returns the row ids of rows [first, first+n).
	Numbers(first, n int64) []uint32
	// Upload queues the upload of a column.
	Upload(ctx context.Context, to Uploader, column int) (rowid.Column, error)
	// UploadNumbers queues the upload of the row ids, a uint32 each.
	UploadNumbers(ctx context.Context, to Uploader) (driver.Ptr, error)
}

// Uploader uploads columns of one view.
type Uploader interface {
	// Alloc returns device memory that is freed with the view.
	Alloc(bytes int64) (driver.Ptr, error)
	// Batched runs queue, whose copies may run in any order.
	Batched(queue func() error) error
	// Copy queues a copy of host memory, which must stay as it is.
	Copy(ctx context.Context, to driver.Ptr, from []byte) error
	// CopyDevice queues a copy of n bytes of device memory, of this device or of another one
	// that lets it read its memory. The bytes are there already and must stay as they are.
	CopyDevice(to, from driver.Ptr, n int64) error
	// Follow returns a stream for kernels that come after all copies so far, and without
	// which the column that is being uploaded is not complete. Later uploads do not wait for
	// them.
	Follow() (*driver.Stream, error)
	// Fill queues the upload of bytes that write makes piece by piece, in buffers for
	// whole values of the given size. at is the offset of a piece.
	Fill(ctx context.Context, to driver.Ptr, bytes, value int64, write func(buffer []byte, at int64) error) error
}
