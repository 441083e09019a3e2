//go:build cuda

package cuda

import (
	"context"
	"errors"
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/columnar/selector"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// materialisedJoin is an inner join that takes both sides at once, and moves what is read
// later with the key (GFTR's OM) where that is cheaper than fetching it. It
// keeps nothing between Prepare and Probe but columns of the build side.
type materialisedJoin struct {
	e      *execution
	spec   *device.JoinSpec
	run    columnar.Func
	build  *space
	side   *materialisedSide
	mark   driver.Mark
	report joincore.JoinStats
	// What crossing the link is predicted to take, and what preparing took.
	crossing, prepare time.Duration
}

// materialisedAlgorithms are the algorithms that join materialised sides; the one for 0 chooses.
var materialisedAlgorithms = map[joincore.Algorithm]columnar.Func{
	joincore.PHJOM: phj.OM, joincore.PHJUM: phj.UM, joincore.SMJUM: columnar.SMJUM, joincore.SMJOM: columnar.SMJOM, joincore.NPJ: columnar.NPJ,
	0: selector.Run,
}

// suits returns the algorithm if a join can take both sides at once, and
// otherwise the reason why it cannot.
func (e *execution) suits(spec *device.JoinSpec) (columnar.Func, string) {
	if e.workspace.gpu.rowIDsOnly {
		return nil, "the provider joins by row ids only"
	}
	if reason := unfitForMaterialised(spec); reason != "" {
		return nil, reason
	}
	return materialisedAlgorithms[spec.Algorithm], ""
}

// prepareMaterialised gathers the build side's columns where they are not at hand.
func (e *execution) prepareMaterialised(ctx context.Context, spec *device.JoinSpec, build *space, run columnar.Func) (*materialisedJoin, error) {
	j := &materialisedJoin{e: e, spec: spec, run: run, build: build, mark: e.workspace.arena.Mark()}
	j.report.BuildRows = build.rows
	j.crossing = e.crossing(build, spec.Build, nil, spec.KeepBuild)
	start := time.Now()
	defer func() { j.prepare = time.Since(start) }()
	var err error
	before := e.workspace.main.Cost()
	j.side, err = e.materialise(ctx, build, spec.Build, spec.KeepBuild)
	j.report.Work.Add(e.workspace.main.WorkSince(before))
	if err != nil {
		e.workspace.arena.Rewind(j.mark)
		return nil, err
	}
	return j, nil
}

// Probe joins. Where the device has too little memory for that, the columns are
// too many, or the probe side comes over the link in windows, the join goes by
// row numbers after all.
func (j *materialisedJoin) Probe(ctx context.Context, probe device.Space, emit func(device.Space) error) error {
	from, arena := j.e.space(probe), j.e.workspace.arena
	if j.side == nil {
		return j.byNumber(ctx, from, emit, "no row of its build side has a key")
	}
	if v, ok := from.base(); ok && j.e.windows(v, j.e.columnsRead(v.number, j.spec.Match.Probe, nil, j.spec.KeepProbe), j.build.rows) != nil {
		return j.byNumber(ctx, from, emit, "its probe side is uploaded in windows")
	}
	mark := arena.Mark()
	defer arena.Rewind(mark)
	start := time.Now()
	j.crossing += j.e.crossing(from, j.spec.Match.Probe, nil, j.spec.KeepProbe)
	before := j.e.workspace.main.Cost()
	side, err := j.e.materialise(ctx, from, j.spec.Match.Probe, j.spec.KeepProbe)
	j.report.Work.Add(j.e.workspace.main.WorkSince(before))
	if err == nil && side != nil {
		var out *columnar.Output
		if out, err = j.join(ctx, side, start); err == nil {
			j.report.ProbeRows += from.rows
			j.report.RowsOut += out.Rows
			return j.emit(out, side, emit)
		}
	}
	if failed(ctx, err) {
		return err
	}
	arena.Rewind(mark)
	reason := "no row of its probe side has a key"
	if err != nil {
		reason = whyNotMaterialised(err)
	}
	return j.byNumber(ctx, from, emit, reason)
}

// failed says whether an error ends the join: ctx has ended, or the device is
// lost. Any other one says that the join is too large, or not one that the
// kernels can do.
func failed(ctx context.Context, err error) bool {
	var lost *driver.Error
	return err != nil && (ctx.Err() != nil || errors.As(err, &lost) && lost.Sticky())
}

// join runs the join of a probe side that has been asked for since start. What
// the join itself does not take is spent on columns that cross the link.
func (j *materialisedJoin) join(ctx context.Context, probe *materialisedSide, start time.Time) (*columnar.Output, error) {
	return j.joinSides(ctx, j.run, j.side, probe, start)
}

// joinSides is join with an algorithm and a build side.
func (j *materialisedJoin) joinSides(ctx context.Context, run columnar.Func, build, probe *materialisedSide, start time.Time) (*columnar.Output, error) {
	out, report, err := run(ctx, j.e.workspace.gpu.context, j.e.workspace.main.Stream(), j.e.workspace.arena, &columnar.Join{
		Build: build.Side, Probe: probe.Side, OutputRows: j.room(build, probe),
		NoKey: !build.keyKept && !probe.keyKept, Phases: true,
	})
	if err != nil {
		return nil, err
	}
	r := &j.report
	took := j.prepare + time.Since(start)
	r.Time += took
	r.AddPhase(joincore.Phase{Name: phaseTransfer, Predicted: j.crossing, Actual: max(0, took-milliseconds(report.MS))})
	j.prepare, j.crossing = 0, 0
	r.Algorithm, r.Reason = report.Algorithm, ""
	if a := j.spec.Algorithm; a != 0 && !a.Executed(r.Algorithm) {
		r.Reason = "a side is too wide to move with the key"
	}
	r.Work.Add(joincore.DeviceWork{Launches: report.Launches, Syncs: report.Syncs, Bytes: report.Bytes, Peak: report.PeakBytes})
	for _, p := range selector.Phases(report) {
		r.AddPhase(p)
	}
	return out, nil
}

// room is the result's expected size, as far as a quarter of the free memory
// holds it: a larger result is matched once more, when its size is known.
func (j *materialisedJoin) room(build, probe *materialisedSide) int64 {
	width := int64(probe.Key.Bytes)
	for _, c := range slices.Concat(build.Payload, probe.Payload) {
		width += int64(c.Bytes)
	}
	return min(max(j.spec.ResultRows, probe.Rows), j.e.workspace.arena.Free()/4/width)
}

// emit hands out the result in windows of its columns.
func (j *materialisedJoin) emit(out *columnar.Output, probe *materialisedSide, emit func(device.Space) error) error {
	window := int64(emitRows)
	if j.e.opt.EmitRows > 0 {
		window = int64(j.e.opt.EmitRows)
	}
	for first := int64(0); first < out.Rows; first += window {
		s := j.e.workspace.newSpace(min(window, out.Rows-first))
		j.side.cover(s, out.Key, out.Build, first)
		probe.cover(s, out.Key, out.Probe, first)
		if err := emit(s); err != nil {
			return err
		}
	}
	return nil
}

// emitRows is how many rows are emitted at a time.
const emitRows = 1 << 25

// byNumber does the join by row numbers, for the given reason.
func (j *materialisedJoin) byNumber(ctx context.Context, probe *space, emit func(device.Space) error, reason string) error {
	other, err := j.e.prepareNumbers(ctx, j.spec, j.build, reason)
	if err != nil {
		return err
	}
	defer other.Release()
	err = other.Probe(ctx, probe, emit)
	j.report.Add(other.Report())
	return err
}

// Leftover has nothing to return: an inner join leaves no rows over.
func (j *materialisedJoin) Leftover(context.Context, func(device.Space) error) error { return nil }

// Report says what the join has done so far.
func (j *materialisedJoin) Report() joincore.JoinStats {
	r := j.report
	r.Phases = slices.Clone(r.Phases)
	return r
}

// Release gives the build side's columns back.
func (j *materialisedJoin) Release() { j.e.workspace.arena.Rewind(j.mark) }

// materialisedSide is a side of a join as columns, and what each of them is.
type materialisedSide struct {
	columnar.Side
	// plain is the key's column, if the key is one column. Other keys are
	// concatenated parts, which are not read later.
	plain   *joincore.ColumnRef
	keyKept bool // the key is read later
	payload []payload
}

// payload is what a column that is moved is: the values of a column, whether
// they are NULL, or the row numbers of an input.
type payload struct {
	kind   rowid.PayloadKind
	column joincore.ColumnRef
	member
}

// materialise returns the columns of those rows of a space that have a key,
// gathered where they are reached by row number; nil where no row can have one.
func (e *execution) materialise(ctx context.Context, all *space, key *device.Key, keep device.Keep) (*materialisedSide, error) {
	s, err := e.keyed(ctx, all, key, keep)
	if s == nil || err != nil {
		return nil, err
	}
	w := &materialisedSide{Side: columnar.Side{Rows: s.rows}}
	if err := w.takeKey(ctx, e, s, key); err != nil {
		return nil, err
	}
	isKey := func(ref joincore.ColumnRef) bool { return w.plain != nil && ref == *w.plain }
	w.keyKept = slices.ContainsFunc(slices.Concat(keep.Columns, keep.Late), isKey)
	carried, numbered := keep.Carried(func(ref joincore.ColumnRef) bool {
		_, here := s.carried[ref]
		return isKey(ref) || e.describe(ref).Movable() && (here || slices.Contains(keep.Columns, ref))
	})
	for _, ref := range carried {
		if isKey(ref) {
			continue
		}
		if err := w.addValues(ctx, e, s, ref); err != nil {
			return nil, err
		}
	}
	for _, input := range numbered {
		if err := w.addNumbers(e, s, input); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// addValues adds a column. The join waits for the upload of one that it reads where it is.
func (w *materialisedSide) addValues(ctx context.Context, e *execution, s *space, ref joincore.ColumnRef) error {
	var ready []*driver.Event
	c, err := e.lookupAfter(ctx, s, func(event *driver.Event) error {
		ready = append(ready, event)
		return nil
	})(ref)
	if err != nil || c.Missing {
		return err
	}
	if inPlace(c) {
		w.Pending = append(w.Pending, ready...)
	} else {
		for _, event := range ready {
			if err := e.workspace.main.Stream().Wait(event); err != nil {
				return err
			}
		}
	}
	column, valid, err := e.dense(c, w.Rows)
	if err != nil {
		return err
	}
	w.add(column, payload{kind: rowid.PayloadValues, column: ref})
	if valid != 0 {
		w.add(columnar.Column{Addr: valid, Bytes: 1}, payload{kind: rowid.PayloadValidity, column: ref})
	}
	return nil
}

func (w *materialisedSide) addNumbers(e *execution, s *space, input int) error {
	m, ok := s.members[input]
	if !ok {
		return nil
	}
	all, first := e.numbered(m.view)
	if m.positions == 0 || first != 0 {
		to, err := e.workspace.arena.Take(4 * s.rows)
		if err != nil {
			return err
		}
		if err := e.workspace.main.Number(m.positions, first, s.rows, to); err != nil {
			return err
		}
		m.positions = to
	}
	m.view = all
	w.add(columnar.Column{Addr: m.positions, Bytes: 4}, payload{kind: rowid.PayloadRowIDs, column: joincore.ColumnRef{Input: input}, member: m})
	return nil
}

func (w *materialisedSide) add(c columnar.Column, p payload) {
	w.Payload = append(w.Payload, c)
	w.payload = append(w.payload, p)
}

// inPlace reports whether a join can read a column where it is.
func inPlace(c rowid.Column) bool {
	return c.Positions == 0 && c.Values%16 == 0 && c.Validity%16 == 0
}

// dense returns a column with a value for each row of its space, and where
// there are NULLs a byte a row, both aligned as a columnar.Column is.
func (e *execution) dense(c rowid.Column, rows int64) (columnar.Column, driver.Ptr, error) {
	if inPlace(c) {
		return columnar.Column{Addr: c.Values, Bytes: c.Width}, c.Validity, nil
	}
	arena := e.workspace.arena
	to, err := arena.Take(rows * int64(c.Width))
	if err != nil {
		return columnar.Column{}, 0, err
	}
	var valid driver.Ptr
	if c.Validity != 0 || c.Optional {
		if valid, err = arena.Take(rows); err != nil {
			return columnar.Column{}, 0, err
		}
	}
	return columnar.Column{Addr: to, Bytes: c.Width}, valid, e.workspace.main.Gather(c, 0, rows, to, valid)
}

// cover adds the columns of a result, from the given row on, to a space.
func (w *materialisedSide) cover(s *space, key columnar.Column, columns []columnar.Column, first int64) {
	at := func(c columnar.Column) driver.Ptr { return c.Addr + driver.Ptr(first*int64(c.Bytes)) }
	if w.keyKept {
		s.carried[*w.plain] = rowid.Column{Values: at(key), Width: key.Bytes}
	}
	for i, p := range w.payload {
		c := columns[i]
		switch p.kind {
		case rowid.PayloadValues:
			s.carried[p.column] = rowid.Column{Values: at(c), Width: c.Bytes}
		case rowid.PayloadValidity: // follows the values
			column := s.carried[p.column]
			column.Validity = at(c)
			s.carried[p.column] = column
		case rowid.PayloadRowIDs:
			s.members[p.column.Input] = member{view: p.view, positions: at(c), optional: p.optional}
		}
	}
}

// keyed returns the rows of a space that have a key: an inner join reads no
// others. That is the space itself where it has no NULLs there, or none turn
// up: nothing is moved then. nil: a part of the key is NULL in all rows.
func (e *execution) keyed(ctx context.Context, s *space, key *device.Key, keep device.Keep) (*space, error) {
	find, nullable := e.lookup(ctx, s, e.workspace.main.Stream()), false
	for _, p := range key.Parts {
		c, err := find(p.Column)
		if c.Missing || err != nil {
			return nil, err
		}
		nullable = nullable || c.Validity != 0 || c.Optional
	}
	if !nullable {
		return s, nil
	}
	mark := e.workspace.arena.Mark()
	chosen, rows, err := e.choose(s.rows, func(to driver.Ptr) (int64, error) {
		return e.workspace.main.Keyed(ctx, e.side(ctx, s), key, to, func() {
			if v, ok := s.base(); ok { // upload payload while the keys are checked
				v.Fetch(ctx, e.columnsRead(v.number, key, nil, keep))
			}
		})
	})
	if err != nil {
		return nil, err
	}
	if rows == s.rows {
		e.workspace.arena.Rewind(mark)
		return s, nil
	}
	keep.Columns = slices.Clone(keep.Columns)
	for _, p := range key.Parts {
		keep.Columns = append(keep.Columns, p.Column)
	}
	out := e.workspace.newSpace(rows)
	return out, out.pick(s, chosen, keep)
}

// takeKey makes the key column of rows that have a key: a column as it is, where
// that is as wide as the key, or its parts side by side.
func (w *materialisedSide) takeKey(ctx context.Context, e *execution, s *space, key *device.Key) error {
	column, bytes := &key.Parts[0].Column, rowid.KeyBytes(key)
	if len(key.Parts) == 1 && e.describe(*column).Width == bytes {
		c, err := e.lookup(ctx, s, e.workspace.main.Stream())(*column)
		if err != nil {
			return err
		}
		w.plain = column
		c.Validity, c.Optional = 0, false
		w.Key, _, err = e.dense(c, s.rows)
		return err
	}
	to, err := e.workspace.arena.Take(s.rows * int64(bytes))
	if err != nil {
		return err
	}
	w.Key = columnar.Column{Addr: to, Bytes: bytes}
	return e.workspace.main.Keys(ctx, e.side(ctx, s), key, to)
}
