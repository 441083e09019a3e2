//go:build cuda

package cuda

import (
	"context"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// partitionableSides returns the sides of a join that can be partitioned: the build side is
// an input with all its rows, and so will be the probe side.
func (e *execution) partitionableSides(spec *device.JoinSpec, build *space) (b, p outofcore.Side, ok bool) {
	v, ok := build.base()
	if !ok || !v.allRows() || !spec.ProbeInput || len(spec.Build.Parts) == 0 {
		return b, p, false
	}
	probe := e.inputs[spec.Match.Probe.Parts[0].Column.Input].all
	return e.partitionableSide(v, spec.Build, spec.Residual, spec.KeepBuild), e.partitionableSide(probe, spec.Match.Probe, spec.Residual, spec.KeepProbe), true
}

func (e *execution) partitionableSide(v *view, key *device.Key, residual joincore.Expr, keep device.Keep) outofcore.Side {
	_, numbered := keep.Carried(func(ref joincore.ColumnRef) bool {
		return e.describe(ref).Movable() && slices.Contains(keep.Columns, ref)
	})
	return outofcore.Side{
		All: v, Key: key, Columns: e.columnsRead(v.number, key, residual, keep),
		Numbered: slices.Contains(numbered, v.number),
	}
}

// The methods up to PrepareByID are those of outofcore.Resources.

func (e *execution) Device() *outofcore.Device     { return e.workspace.gpu.outOfCore }
func (e *execution) Memory() joincore.Memory       { return e.mem }
func (e *execution) Main() *rowid.Queue            { return e.workspace.main }
func (e *execution) Event() (*driver.Event, error) { return e.workspace.event() }

func (e *execution) Method(host []byte) links.Method {
	return e.workspace.gpu.transferMethod(host)
}

func (e *execution) Staging(bytes int64) (*driver.Host, error) {
	return e.workspace.stagingBuffer(bytes)
}

func (e *execution) Downloads() (outofcore.Downloads, error) {
	stream, err := e.workspace.downloadStream()
	return downloads{e, stream}, err
}

func (e *execution) Reserve(bytes int64) (at driver.Ptr, free func(), err error) {
	at, err = e.workspace.Alloc(bytes)
	return at, func() { e.workspace.Free(at, bytes) }, err
}

func (e *execution) SyncUploads() error {
	return e.workspace.upload.stream.Sync(context.Background())
}

func (e *execution) AllRows(s device.Space) (outofcore.View, bool) {
	v, ok := e.space(s).base()
	return v, ok && v.allRows()
}

func (e *execution) Windows(all outofcore.View, rows int64) []outofcore.View {
	var out []outofcore.View
	for _, v := range e.cut(all.(*view), rows, rows) {
		out = append(out, v)
	}
	return out
}

func (e *execution) View(input int, rows outofcore.Rows) outofcore.View {
	return e.viewOf(input, rows)
}

func (e *execution) NewRing(bytes int64) (outofcore.Ring, error) {
	r, err := e.workspace.newRing(2, bytes)
	return r, err
}

func (e *execution) PrepareByID(ctx context.Context, spec *device.JoinSpec, build device.Space, reason string) (device.Prepared, error) {
	return e.prepareNumbers(ctx, spec, e.space(build), reason)
}

// downloads is the stream for copies to host memory that is read again.
type downloads struct {
	e        *execution
	transfer *transferStream
}

func (d downloads) Stream() *driver.Stream { return d.transfer.stream }

func (d downloads) Follow() error { return d.e.workspace.follow(d.transfer) }

func (d downloads) Copy(ctx context.Context, to []byte, from driver.Ptr) error {
	return d.e.workspace.copyOut(ctx, to, from)
}

// Alloc to Fill are the methods of outofcore.Uploader. Alloc takes memory from the view's slot
// of a ring as long as that has enough; other memory is freed with the view.
func (v *view) Alloc(bytes int64) (driver.Ptr, error) {
	if v.slot != nil {
		if at, ok, err := v.slot.take(v.workspace.upload.stream, bytes); ok || err != nil {
			return at, err
		}
	}
	return v.memory.Alloc(bytes)
}

func (v *view) Batched(queue func() error) error { return v.workspace.batched(queue) }

func (v *view) Copy(ctx context.Context, to driver.Ptr, from []byte) error {
	return v.workspace.copyIn(ctx, to, from)
}

func (v *view) CopyDevice(to, from driver.Ptr, n int64) error {
	return v.workspace.copyDevice(to, from, n)
}

func (v *view) Follow() (*driver.Stream, error) { return v.workspace.followUploads() }

func (v *view) Fill(ctx context.Context, to driver.Ptr, bytes, value int64, write func(buffer []byte, at int64) error) error {
	return v.workspace.fill(ctx, to, bytes, value, write)
}

// Input returns the number of the view's input in the plan, and the input.
func (v *view) Input() (int, *hostinput.Input) { return v.number, v.input }

// Segments returns the segments that the view consists of, if it has no source.
func (v *view) Segments() (low, high int) { return v.low, v.high }

// Rows returns the number of rows.
func (v *view) Rows() int64 { return v.rows }

// Column returns a column that is available to the main stream.
func (v *view) Column(ctx context.Context, j int) (rowid.Column, error) {
	c, err := v.column(ctx, j)
	if err != nil {
		return rowid.Column{}, err
	}
	return c.Column, v.workspace.main.Stream().Wait(c.ready)
}

// Space returns the rows of a view as a space. If a join out of core has moved no
// row ids the space holds only columns.
func (v *view) Space(ctx context.Context) (device.Space, error) {
	if v.source == nil {
		return v.space(), nil
	}
	columns, numbered := v.source.Columns()
	if numbered {
		return v.space(), nil
	}
	s := v.workspace.newSpace(v.rows)
	for _, j := range columns {
		c, err := v.Column(ctx, j)
		if err != nil {
			return nil, err
		}
		s.carried[joincore.ColumnRef{Input: v.number, Column: j}] = c
	}
	return s, nil
}
