package bulk

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
)

// Member is a Provider whose executions exchange rows with those on other devices, through the
// memory of the host: exchange.Assign decides where rows go, and may copy rows of one side of a
// partition to several devices. A row travels with the columns that the join is told to keep, as far as
// they move, and with its id if the others are read: the device where it arrives fetches these. All
// others are NULL there, so a plan that reads more of it returns wrong rows. Executions that make one
// table read each other's build rows where they are; one may make a hybrid table, of which none is on the host.
type Member struct {
	Provider
	// Assigned, if there is one, gets the assignment of rows to the devices of a meeting.
	Assigned func(*exchange.Assignment)
	// Hook, if there is one, is called at each moment of a meeting. If it returns an error, the
	// execution fails there.
	Hook func(ctx context.Context, when Moment, member int) error
}

// Moment is when a meeting's hook is called.
type Moment int

const (
	Before Moment = iota // an execution has not come yet
	At                   // one of them works for all
	After                // an execution has its rows
)

// Meets implements multi's team.
func (p *Member) Meets([]device.Provider, *device.Exchange) error { return nil }

// Team implements multi's team.
func (p *Member) Team(members []device.Provider, x *device.Exchange) []any {
	t := &team{exchange: x, hook: p.Hook, assigned: p.Assigned}
	if t.hook == nil {
		t.hook = func(context.Context, Moment, int) error { return nil }
	}
	if t.assigned == nil {
		t.assigned = func(*exchange.Assignment) {}
	}
	t.meeting = device.NewMeeting(len(members), t.work)
	if x.Spread {
		t.meeting = device.NewMeeting(len(members), t.combine)
	}
	out := make([]any, len(members))
	for i := range out {
		out[i] = &attendance{team: t, member: i}
	}
	return out
}

// Open starts an execution.
func (p *Member) Open(mem joincore.Memory, opt device.Options) (device.Device, error) {
	d, err := p.Provider.Open(mem, opt)
	if a, ok := opt.Common.Team.(*attendance); ok && err == nil {
		return &attending{dev: d.(*dev), attendance: a}, nil
	}
	return d, err
}

// team is what the executions of a plan have in common.
type team struct {
	exchange *device.Exchange
	hook     func(ctx context.Context, when Moment, member int) error
	assigned func(*exchange.Assignment)
	meeting  *device.Meeting[*rowsOf, *rowsOf]
	readers  device.Readers // of build rows, where executions make one table
}

// attendance is the part of one execution.
type attendance struct {
	*team
	member int
	came   atomic.Bool
	build  *joincore.Relation // its build rows, which others read
	sent   atomic.Int64       // bytes between devices, each reported by one of them
}

// rowsOf are rows of both sides of the join, build side first: the columns of each, and what they are
// joined by.
type rowsOf struct {
	sides [2]*joincore.Relation
	keys  [2]*device.Key
	sent  int64
}

// work brings rows to the members that the assignment says.
func (t *team) work(ctx context.Context, parts []*rowsOf) ([]*rowsOf, error) {
	if err := t.hook(ctx, At, 0); err != nil {
		return nil, err
	}
	a, err := t.assign(parts)
	if err != nil {
		return nil, err
	}
	t.assigned(a)
	out := make([]*rowsOf, len(parts))
	for m := range out {
		out[m] = &rowsOf{keys: parts[0].keys}
		for side := range out[m].sides {
			out[m].sides[side] = &joincore.Relation{Columns: parts[0].sides[side].Columns}
			for from, p := range parts {
				r := p.sides[side]
				for i := range r.Segments {
					s := pick(r, &r.Segments[i], func(row int) bool {
						at := partition(&r.Segments[i], r.Columns, p.keys[side], row)
						return at >= 0 && a.To[side][at][from]>>m&1 != 0
					})
					if s.Rows > 0 {
						out[m].sides[side].Segments = append(out[m].sides[side].Segments, s)
					}
					if from != m {
						out[0].sent += int64(s.Rows) * t.width(p.keys[side])
					}
				}
			}
		}
	}
	return out, nil
}

// Of an assignment: the number of partitions, how many more rows than the mean a member may get, and
// what a copy has to save.
const (
	partitions = 64
	slack      = 0.5
	worth      = 1
)

// assign decides which members get the rows of each partition, by those that all have.
func (t *team) assign(parts []*rowsOf) (*exchange.Assignment, error) {
	m, err := meshOf(len(parts))
	if err != nil {
		return nil, err
	}
	l := exchange.Limits{Copy: [2]bool{true, true}, Worth: worth, Slack: slack}
	var h exchange.Histograms
	for side := range h {
		l.Width[side] = t.width(parts[0].keys[side])
		for _, p := range parts {
			counts, r := make([]int64, partitions), p.sides[side]
			for i := range r.Segments {
				for row := range r.Segments[i].Rows {
					if at := partition(&r.Segments[i], r.Columns, p.keys[side], row); at >= 0 {
						counts[at]++
					}
				}
			}
			h[side] = append(h[side], counts)
		}
	}
	return exchange.Assign(h, m, l)
}

// meshes has what meshOf has returned: to make one takes longer than most meetings.
var meshes sync.Map

// meshOf returns the mesh of some members, whose links are alike.
func meshOf(members int) (*mesh.Mesh, error) {
	if m, ok := meshes.Load(members); ok {
		return m.(*mesh.Mesh), nil
	}
	gpus := make([]int, members)
	for i := range gpus {
		gpus[i] = i
	}
	m, err := machines.Mesh("hgx-h200")
	if err == nil {
		m, err = m.Restrict(gpus)
	}
	if err == nil {
		meshes.Store(members, m)
	}
	return m, err
}

// width returns the bytes of a row of the side with a key.
func (t *team) width(key *device.Key) int64 {
	return t.exchange.RowBytes(t.exchange.Side(key.Parts[0].Column.Input))
}

// partition returns the partition of a row, by its key; -1 if a part of the key is NULL.
func partition(s *joincore.Segment, columns []joincore.Column, key *device.Key, row int) int {
	sum := uint64(0)
	for _, p := range key.Parts {
		v, width := &s.Columns[p.Column.Column], columns[p.Column.Column].Width
		if v.Null(row) {
			return -1
		}
		value := uint64(0)
		for i := range width {
			value |= uint64(v.Values[width*row+i]) << (8 * i)
		}
		shift := 64 - 8*width
		sum = 31*sum + uint64(int64(value)<<shift>>shift) // equal integers of different widths
	}
	return int(sum % partitions)
}

// pick returns the rows of a segment of columns of fixed width for which take is true. Columns of
// variable length stay NULL.
func pick(r *joincore.Relation, s *joincore.Segment, take func(row int) bool) joincore.Segment {
	var rows []int
	for row := range s.Rows {
		if take(row) {
			rows = append(rows, row)
		}
	}
	out := blank(r.Columns, len(rows))
	for j, c := range r.Columns {
		if c.Kind != joincore.Fixed {
			continue
		}
		from, to := &s.Columns[j], &out.Columns[j]
		for i, row := range rows {
			copy(to.Values[c.Width*i:c.Width*(i+1)], from.Values[c.Width*row:])
			if !from.Null(row) {
				to.Validity[i/8] |= 1 << (i % 8)
			}
		}
	}
	return out
}

// blank returns a segment of some rows, all NULL.
func blank(columns []joincore.Column, rows int) joincore.Segment {
	s := joincore.Segment{Rows: rows}
	for _, c := range columns {
		v := joincore.Vector{Validity: make([]byte, (rows+7)/8)}
		if c.Kind == joincore.Fixed {
			v.Values = make([]byte, rows*c.Width)
		} else {
			v.Values = make([]byte, 4*(rows+1))
		}
		s.Columns = append(s.Columns, v)
	}
	return s
}

// attending is a device that meets others at a join.
type attending struct {
	*dev
	*attendance
}

// Prepare implements device.Bulk.
func (d *attending) Prepare(ctx context.Context, spec *device.JoinSpec, build device.Space) (device.Prepared, error) {
	if !d.exchange.Joins(spec) {
		return d.dev.Prepare(ctx, spec, build)
	}
	if d.exchange.Spread {
		return d.prepareTable(ctx, spec, use(build))
	}
	if !spec.ProbeOnce || spec.Emit != device.Pairs || spec.Residual != nil || spec.Leftover || !spec.Build.Exact {
		panic("devices meet at a join that is not one of pairs by exact keys, probed once")
	}
	s := use(build)
	s.users.Add(1)
	return &meetingJoin{d: d, spec: spec, build: s}, nil
}

// Exchanged returns how many bytes devices have sent to each other, and over how many links.
func (d *attending) Exchanged() (bytes int64, hops int) {
	if bytes = d.sent.Load(); bytes > 0 {
		hops = 1
	}
	return bytes, hops
}

// Met returns how long the execution has waited for the others.
func (d *attending) Met() time.Duration { return d.meeting.Waited(d.member) }

// meetingJoin is the join at which a device meets others. It imports the rows that it gets in the
// place of its own, and joins them like any others.
type meetingJoin struct {
	d      *attending
	spec   *device.JoinSpec
	build  *space
	report joincore.JoinStats
}

// Probe implements device.Prepared.
func (j *meetingJoin) Probe(ctx context.Context, probe device.Space, emit func(device.Space) error) error {
	if j.d.came.Swap(true) {
		panic("a join at which devices meet is probed a second time")
	}
	if err := j.d.hook(ctx, Before, j.d.member); err != nil {
		return err
	}
	own := &rowsOf{keys: [2]*device.Key{j.spec.Build, j.spec.Probe}}
	for side, s := range []device.Space{j.build, probe} {
		var err error
		if own.sides[side], err = j.d.read(ctx, s, own.keys[side], [2]device.Keep{j.spec.KeepBuild, j.spec.KeepProbe}[side]); err != nil {
			return err
		}
	}
	got, err := j.d.meeting.Join(ctx, j.d.member, own)
	if err == nil {
		err = j.d.hook(ctx, After, j.d.member)
	}
	if err != nil {
		return err
	}
	j.d.sent.Store(got.sent)
	err = j.join(ctx, got, emit)
	j.report.Algorithm += "+exchange"
	j.report.BuildRows, j.report.ProbeRows = own.sides[0].Rows(), own.sides[1].Rows()
	return err
}

// join joins the rows that a device has got.
func (j *meetingJoin) join(ctx context.Context, got *rowsOf, emit func(device.Space) error) error {
	var spaces [2]device.Space
	for side, r := range got.sides {
		input := got.keys[side].Parts[0].Column.Input
		s, err := j.d.dev.Import(input, j.d.fetched(input, r))
		if err != nil {
			return err
		}
		defer s.Release()
		spaces[side] = s
	}
	inner, err := j.d.dev.Prepare(ctx, j.spec, spaces[0])
	if err != nil {
		return err
	}
	defer inner.Release()
	err = inner.Probe(ctx, spaces[1], emit)
	j.report = inner.Report()
	return err
}

// read returns the rows of a space: its key, and what is kept of it.
func (d *attending) read(ctx context.Context, s device.Space, key *device.Key, keep device.Keep) (*joincore.Relation, error) {
	input := key.Parts[0].Column.Input
	side := d.exchange.Side(input)
	out := &joincore.Relation{Columns: d.exchange.Rows[side].Columns}
	refs := slices.Concat(key.Columns(), keep.Columns, keep.Late)
	refs = slices.DeleteFunc(refs, func(c joincore.ColumnRef) bool { return !out.Columns[c.Column].Movable() })
	if d.exchange.Numbers(side) {
		refs = append(refs, joincore.ColumnRef{Input: input, Column: len(out.Columns)})
		out.Columns = append(slices.Clone(out.Columns), idColumn)
	}
	slices.SortFunc(refs, func(a, b joincore.ColumnRef) int { return a.Column - b.Column })
	refs = slices.Compact(refs)
	if _, err := d.Rows(s).Wait(ctx); err != nil {
		return nil, err
	}
	st, err := d.NewStream()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	for number, segment := range s.Segments() {
		for first := 0; first < segment.Rows; first += d.ChunkRows() {
			n := min(d.ChunkRows(), segment.Rows-first)
			part := blank(out.Columns, n)
			batch := &joincore.Batch{Rows: n}
			for _, c := range refs {
				v := part.Columns[c.Column]
				for i := range v.Validity {
					v.Validity[i] = 0xff // Gather clears the bits of NULLs
				}
				batch.Columns = append(batch.Columns, v)
			}
			got, err := st.Gather(st.Scan(s, number, first, n), 0, refs, batch, 0, make([]int, len(refs))).Wait(ctx)
			if err != nil {
				return nil, err
			}
			if int(got) != n {
				panic(fmt.Sprintf("%d of %d rows of fixed width were read", got, n))
			}
			out.Segments = append(out.Segments, part)
		}
	}
	return out, nil
}

// Leftover implements device.Prepared: a join of pairs leaves no rows over.
func (j *meetingJoin) Leftover(context.Context, func(device.Space) error) error { return nil }

// Report implements device.Prepared.
func (j *meetingJoin) Report() joincore.JoinStats { return j.report }

// Release implements device.Prepared.
func (j *meetingJoin) Release() { j.build.users.Add(-1) }
