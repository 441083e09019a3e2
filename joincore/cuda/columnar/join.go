//go:build cuda

package columnar

import (
	"context"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/driver"
)

// Column is an array of fixed-width values in device memory. Addr is a multiple of
// 16, and the memory is readable up to the next multiple of 256.
type Column struct {
	Addr  driver.Ptr
	Bytes int // of a value: 1, 2, 4, 8 or 16
}

// Side is one input of a join. Joins do not change it.
type Side struct {
	Rows    int64  // below 2^32 - 2^20
	Key     Column // of 4 or 8 bytes; no key value is reserved
	Payload []Column
	// Pending are events before which the payload cannot be read, because it is still
	// being uploaded. The key can be read by the join's stream.
	Pending []*driver.Event
}

// Bytes returns the size of the side's columns.
func (s *Side) Bytes() int64 { return s.Rows * int64(s.RowBytes()) }

// RowBytes returns the bytes of a row.
func (s *Side) RowBytes() int {
	width := s.Key.Bytes
	for _, c := range s.Payload {
		width += c.Bytes
	}
	return width
}

// Join is an inner join on equal keys, which need not be unique on either side.
type Join struct {
	Build, Probe Side
	// OutputRows is the expected size of the result. A larger result is returned as
	// well, but takes more time and memory.
	OutputRows int64
	// RowIDs: the result has each side's row number, a 4-byte column, instead of that
	// side's payload.
	RowIDs bool
	// NoKey: the result has no key column.
	NoKey bool
	// Phases: the report has the time of each phase. Measuring takes a few
	// microseconds.
	Phases bool
}

// RowBytes returns the bytes of a result row.
func (j *Join) RowBytes() (bytes int64) {
	if !j.NoKey {
		bytes = int64(j.Probe.Key.Bytes)
	}
	if j.RowIDs {
		return bytes + 2*4
	}
	return bytes + int64(j.Build.RowBytes()-j.Build.Key.Bytes+j.Probe.RowBytes()-j.Probe.Key.Bytes)
}

// Output is a join's result, in the join's arena.
type Output struct {
	Rows  int64
	Key   Column // zero if Join.NoKey
	Build []Column
	Probe []Column
}

// Phase is a named part of a join.
type Phase struct {
	Name  string
	MS    float64
	Bytes int64 // read and written, as modelled
}

// Report has the costs of a join.
type Report struct {
	Algorithm string
	MS        float64 // on the device, from the first operation to reading back the row count
	WallMS    float64 // on the host, from entry to return
	Launches  int
	Syncs     int   // times the host waited for the device
	Bytes     int64 // device memory read and written, as modelled
	PeakBytes int64 // inputs plus the peak use of the arena
	Phases    []Phase
	Predicted []Phase // by the model, where something was chosen; coarser than Phases
}

// Predict fills in what the model has given the join.
func (r *Report) Predict(p costmodel.Prediction) {
	r.Predicted = nil
	for _, phase := range p {
		r.Predicted = append(r.Predicted, Phase{Name: phase.Name, MS: phase.MS})
	}
}

// Func runs a join on a stream and returns when it is done. All its device
// memory comes from the arena; the result stays there until the caller rewinds
// it. Errors: joincore.ErrBudget (by errors.Is) where the arena is too small,
// ctx.Err() where ctx ended first, a *driver.Error otherwise.
type Func func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join) (*Output, *Report, error)
