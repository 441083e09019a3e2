//go:build cuda

package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/device"
)

// spreading is what executions on several devices have in common that make one hash table of the
// build side of a join, in the memory of all of them (Fast-IC, section 6.3). Each brings the columns
// of its own build rows when it prepares the join. The last one to come has all devices enter rows.
// From then on each probes with its own rows, window by window, and waits for no other.
//
// Until the last one has closed, all of them may read each other's build side and table: these stay
// where they are (Arena.Pin), and workspaces are not used again (Readers).
//
// A hybrid table may have a part in page-locked memory of the host (section 5.3), and may be that of one device. That
// memory is charged to the job, and stays as long as the rest.
type spreading struct {
	exchange *device.Exchange
	place    columnar.Placement // of a hybrid table; tests may place units on the host
	meeting  *device.Meeting[*spreadPart, *columnar.SpreadTable]
	readers  device.Readers
	host     sync.Once
	freeHost func() // nil: the table has no memory of the host
}

// spreadPlace is an execution's place among them.
type spreadPlace struct {
	*spreading
	member int
}

// spreadPart is what an execution brings to the meeting.
type spreadPart struct {
	columnar.SpreadMember
	payload []movedColumn
	of      *execution
}

// newSpreading returns, for each of some executions, its place.
func newSpreading(members int, x *device.Exchange, place columnar.Placement) (places []any) {
	s := &spreading{exchange: x, place: place}
	s.meeting = device.NewMeeting(members, s.work)
	for i := range members {
		places = append(places, &spreadPlace{s, i})
	}
	return places
}

// work makes the table of all members' rows.
func (s *spreading) work(ctx context.Context, parts []*spreadPart) ([]*columnar.SpreadTable, error) {
	var members []columnar.SpreadMember
	var payload [][]movedColumn
	for _, p := range parts {
		members, payload = append(members, p.SpreadMember), append(payload, p.payload)
	}
	if err := checkAlike(payload); err != nil {
		return nil, err
	}
	table, err := columnar.BuildSpread(ctx, members, s.placing(parts[0].of))
	if err != nil {
		s.giveHostBack()
		return nil, err
	}
	s.readers.Begin(len(parts))
	return slices.Repeat([]*columnar.SpreadTable{table}, len(parts)), nil
}

// placing says where the units of the table lie. Memory of the host is that of an execution.
func (s *spreading) placing(e *execution) columnar.Placing {
	spare := probeBytes(s.exchange)
	if !s.exchange.Hosted {
		return columnar.Placing{On: costmodel.Interleave, Spare: spare}
	}
	return columnar.Placing{On: s.place, Rest: costmodel.Greedy, Spare: spare, Host: func(bytes int64) (memory []byte, err error) {
		memory, s.freeHost, err = outofcore.TakeLocked(e, bytes)
		return memory, err
	}}
}

// giveHostBack gives back the memory of the host that nothing reads any more, once.
func (s *spreading) giveHostBack() {
	s.host.Do(func() {
		if s.freeHost != nil {
			s.freeHost()
		}
	})
}

// end says that an execution has ended. f gives its memory back when all have.
func (s *spreading) end(f func()) {
	s.readers.End(func() {
		f()
		s.giveHostBack()
	})
}

// spreadJoin is the join, on one of the devices. Where it cannot be executed, the execution fails,
// and one device executes the plan alone.
type spreadJoin struct {
	*materialisedJoin
	table *columnar.SpreadTable
	reads columnar.FarReads
}

// prepareSpread gathers the build side's columns where they are not at hand, and meets the others.
func (e *execution) prepareSpread(ctx context.Context, spec *device.JoinSpec, build *space, at *spreadPlace) (_ *spreadJoin, err error) {
	if reason := unfitForSpread(spec); reason != "" {
		return nil, fmt.Errorf("devices cannot make one table for a join: %s: %w", reason, joincore.ErrUnsupported)
	}
	own := *spec
	own.KeepBuild, own.KeepProbe = travelling(at.exchange, spec.KeepBuild), travelling(at.exchange, spec.KeepProbe)
	j, err := e.prepareMaterialised(ctx, &own, build, nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			j.Release()
		}
	}()
	if err = e.complete(at.exchange, j.side); err != nil {
		return nil, err
	}
	start := time.Now()
	table, err := at.meeting.Join(ctx, at.member, &spreadPart{
		SpreadMember: columnar.SpreadMember{Device: e.workspace.gpu.context, Stream: e.workspace.main.Stream(), Arena: e.workspace.arena, Build: j.side.Side},
		payload:      j.side.moved(), of: e,
	})
	if err != nil {
		return nil, err
	}
	e.unpin = e.workspace.arena.Pin()
	j.run = table.Probe(at.member)
	reads := table.Reads(at.member)
	e.workspace.copied.Add(reads.Made)
	entering := milliseconds(table.MS)
	j.prepare += max(0, time.Since(start)-entering)
	j.report.Time += entering
	j.report.AddPhase(joincore.Phase{Name: columnar.PhaseBuild, Actual: entering})
	return &spreadJoin{j, table, reads}, nil
}

// Probe joins the rows of a space with the table, window by window.
func (j *spreadJoin) Probe(ctx context.Context, probe device.Space, emit func(device.Space) error) error {
	from := j.e.space(probe)
	j.crossing += j.e.crossing(from, j.spec.Match.Probe, nil, j.spec.KeepProbe)
	read := func(input int) []int { return j.e.columnsRead(input, j.spec.Match.Probe, nil, j.spec.KeepProbe) }
	// The table stays, so windows need not be as large as a part of the build side.
	return j.e.eachWindow(ctx, from, read, 0, func(window *space) error { return j.window(ctx, window, emit) })
}

// window joins the rows of a window.
func (j *spreadJoin) window(ctx context.Context, window *space, emit func(device.Space) error) error {
	arena, start, main := j.e.workspace.arena, time.Now(), j.e.workspace.main
	mark := arena.Mark()
	defer arena.Rewind(mark)
	before := main.Cost()
	side, err := j.e.materialise(ctx, window, j.spec.Match.Probe, j.spec.KeepProbe)
	j.report.Work.Add(main.WorkSince(before))
	j.report.ProbeRows += window.rows
	if err != nil || side == nil {
		return err
	}
	return j.rows(ctx, side, start, emit)
}

// rows joins rows of the probe side that have been asked for since start: half of them at a time if
// their result exceeds the memory that is left, and parts of the build side where that does not help.
func (j *spreadJoin) rows(ctx context.Context, side *materialisedSide, start time.Time, emit func(device.Space) error) error {
	arena := j.e.workspace.arena
	mark := arena.Mark()
	defer arena.Rewind(mark)
	out, err := j.join(ctx, side, start)
	if err == nil {
		j.e.workspace.copied.Add(j.reads.Probed(side.Rows, out.Rows))
		return j.emitted(out, side, emit)
	}
	if !errors.Is(err, joincore.ErrBudget) {
		return err
	}
	arena.Rewind(mark)
	if side.Rows > leastPiece {
		return side.halves(func(half *materialisedSide) error { return j.rows(ctx, half, time.Now(), emit) })
	}
	for _, build := range j.table.Sides() {
		part := *j.side
		part.Side = build
		if err := j.turned(ctx, side, &part, time.Now(), emit); err != nil {
			return err
		}
	}
	return nil
}

// turned joins few rows of the probe side with a part of the build side, wherever that lies: by a table of
// the few, half of the part at a time if their result exceeds the memory that is left.
func (j *spreadJoin) turned(ctx context.Context, few, part *materialisedSide, start time.Time, emit func(device.Space) error) error {
	if part.Rows == 0 {
		return nil
	}
	arena := j.e.workspace.arena
	mark := arena.Mark()
	defer arena.Rewind(mark)
	out, err := j.joinSides(ctx, columnar.NPJ, few, part, start)
	if errors.Is(err, joincore.ErrBudget) && part.Rows > leastPiece {
		arena.Rewind(mark)
		return part.halves(func(half *materialisedSide) error { return j.turned(ctx, few, half, time.Now(), emit) })
	}
	if err != nil {
		return err
	}
	j.report.Algorithm = j.table.Algorithm() // of all that it is a part of
	return j.emitted(&columnar.Output{Rows: out.Rows, Key: out.Key, Build: out.Probe, Probe: out.Build}, few, emit)
}

// emitted emits a result.
func (j *spreadJoin) emitted(out *columnar.Output, probe *materialisedSide, emit func(device.Space) error) error {
	if j.report.Reason != "" {
		j.report.Reason = "devices that make one table do not partition"
	}
	j.report.RowsOut += out.Rows
	return j.emit(out, probe, emit)
}

// leastPiece is the least rows that are joined at a time: columns of as many begin where kernels
// read them.
const leastPiece = 16

// halves calls a function with the first and the second half of rows, of which there are more than leastPiece.
func (w *materialisedSide) halves(f func(half *materialisedSide) error) error {
	half := (w.Rows/2 + leastPiece - 1) / leastPiece * leastPiece
	if err := f(w.piece(0, half)); err != nil {
		return err
	}
	return f(w.piece(half, w.Rows-half))
}

// piece returns n rows from the given one on, a multiple of leastPiece.
func (w *materialisedSide) piece(first, n int64) *materialisedSide {
	part := *w
	part.Rows, part.Payload = n, slices.Clone(w.Payload)
	part.Key.Addr += driver.Ptr(first * int64(w.Key.Bytes))
	for i := range part.Payload {
		part.Payload[i].Addr += driver.Ptr(first * int64(w.Payload[i].Bytes))
	}
	return &part
}
