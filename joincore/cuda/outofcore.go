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

// OutOfCore returns the execution as joins out of core see it.
func (e *execution) OutOfCore() outofcore.Resources { return largerThanDevice{e} }

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
		return rowid.Movable(e.describe(ref)) && slices.Contains(keep.Columns, ref)
	})
	return outofcore.Side{
		All: v, Key: key, Columns: e.columnsRead(v.number, key, residual, keep),
		Numbered: slices.Contains(numbered, v.number),
	}
}

// largerThanDevice is an execution as joins out of core see it.
type largerThanDevice struct{ e *execution }

func (l largerThanDevice) Device() *outofcore.Device     { return l.e.workspace.gpu.outOfCore }
func (l largerThanDevice) Memory() joincore.Memory       { return l.e.mem }
func (l largerThanDevice) Main() *rowid.Queue            { return l.e.workspace.main }
func (l largerThanDevice) Event() (*driver.Event, error) { return l.e.workspace.event() }

func (l largerThanDevice) Method(host []byte) links.Method {
	return l.e.workspace.gpu.transferMethod(host)
}

func (l largerThanDevice) Staging(bytes int64) (*driver.Host, error) {
	return l.e.workspace.stagingBuffer(bytes)
}

func (l largerThanDevice) Downloads() (outofcore.Downloads, error) {
	stream, err := l.e.workspace.downloadStream()
	return downloads{l.e, stream}, err
}

func (l largerThanDevice) Reserve(bytes int64) (at driver.Ptr, free func(), err error) {
	at, err = l.e.workspace.Alloc(bytes)
	return at, func() { l.e.workspace.Free(at, bytes) }, err
}

func (l largerThanDevice) SyncUploads() error {
	return l.e.workspace.upload.stream.Sync(context.Background())
}

func (l largerThanDevice) AllRows(s device.Space) (outofcore.View, bool) {
	v, ok := l.e.space(s).base()
	return v, ok && v.allRows()
}

func (l largerThanDevice) Windows(all outofcore.View, rows int64) []outofcore.View {
	var out []outofcore.View
	for _, v := range l.e.cut(all.(*view), rows, rows) {
		out = append(out, v)
	}
	return out
}

func (l largerThanDevice) View(input int, rows outofcore.Rows) outofcore.View {
	return l.e.viewOf(input, rows)
}

func (l largerThanDevice) NewRing(bytes int64) (outofcore.Ring, error) {
	r, err := l.e.workspace.newRing(2, bytes)
	return r, err
}

func (l largerThanDevice) Prepare(ctx context.Context, spec *device.JoinSpec, build device.Space, reason string) (device.Prepared, error) {
	return l.e.prepareNumbers(ctx, spec, l.e.space(build), reason)
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

// uploader uploads columns of a view.
type uploader struct{ v *view }

func (u uploader) Alloc(bytes int64) (driver.Ptr, error) { return u.v.alloc(bytes) }
func (u uploader) Batched(queue func() error) error      { return u.v.workspace.batched(queue) }

func (u uploader) Copy(ctx context.Context, to driver.Ptr, from []byte) error {
	return u.v.workspace.copyIn(ctx, to, from)
}

func (u uploader) CopyDevice(to, from driver.Ptr, n int64) error {
	return u.v.workspace.copyDevice(to, from, n)
}

func (u uploader) Follow() (*driver.Stream, error) {
	return u.v.workspace.followUploads()
}

func (u uploader) Fill(ctx context.Context, to driver.Ptr, bytes, value int64, write func(buffer []byte, at int64) error) error {
	return u.v.workspace.fill(ctx, to, bytes, value, write)
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
