//go:build cuda

package cuda

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
	"gpujoin/joincore/program"
)

// groups is an aggregate: rows in a hash table in the heap. Of each group it keeps the
// row of each input of which columns are carried.
type groups struct {
	e      *execution
	spec   *device.AggregateSpec
	plan   *program.Groups
	groups *rowid.Groups
	inputs []int // of carried columns, each once
	took   time.Duration
	most   int64 // bytes of the table
}

// Aggregate begins to group rows.
func (e *execution) Aggregate(ctx context.Context, spec *device.AggregateSpec, where joincore.Expr) (device.Groups, error) {
	all := program.Rows{
		Where: func(joincore.ColumnRef) program.Where { return program.Probe }, Column: spec.Schema.Column, Parameters: spec.Parameters,
	}
	plan, err := program.NewGroups(where, spec.Keys, spec.Functions, spec.Columns, all)
	if err != nil {
		return nil, err
	}
	g := &groups{e: e, spec: spec, plan: plan}
	for _, c := range spec.Carry {
		if !slices.Contains(g.inputs, c.Input) {
			g.inputs = append(g.inputs, c.Input)
		}
	}
	g.groups, err = e.workspace.main.NewGroups(ctx, &rowid.GroupsSpec{
		Groups: plan, Parameters: spec.Parameters, Inputs: len(g.inputs), Expected: spec.Groups, Collide: e.opt.Collide, Slots: int64(e.opt.Groups),
	}, e.workspace)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Add groups the rows of a space. An input that is still on the host is uploaded in
// windows, of which one is grouped while the next one crosses the link.
func (g *groups) Add(ctx context.Context, s device.Space) error {
	start := time.Now()
	defer func() { g.took += time.Since(start) }()
	return g.e.eachWindow(ctx, g.e.space(s), g.columnsRead, 0, func(from *space) error { return g.add(ctx, from) })
}

// columnsRead returns the columns of an input that the program reads.
func (g *groups) columnsRead(input int) []int {
	var read []joincore.ColumnRef
	for _, e := range g.plan.Where {
		read = append(read, joincore.Columns(e)...)
	}
	read = append(read, joincore.AggregateColumns(&joincore.Aggregate{Keys: g.spec.Keys, Functions: g.spec.Functions})...)
	return columnsOf(input, read)
}

func (g *groups) add(ctx context.Context, from *space) error {
	if v, ok := from.base(); ok {
		v.Fetch(ctx, g.columnsRead(v.number))
	}
	arena := g.e.workspace.arena
	mark := arena.Mark()
	defer arena.Rewind(mark)
	var origins []rowid.Origin
	for _, input := range g.inputs {
		o, err := g.e.origin(ctx, from, input)
		if err != nil {
			return err
		}
		origins = append(origins, o)
	}
	err := g.groups.Add(ctx, g.e.side(ctx, from), origins)
	g.most = max(g.most, g.groups.Bytes())
	return err
}

// origin returns where the rows of an input are, for the rows of a space.
func (e *execution) origin(ctx context.Context, s *space, input int) (rowid.Origin, error) {
	m, covered, err := s.numbers(input)
	if err != nil {
		return rowid.Origin{}, err
	}
	if !covered {
		none, err := e.workspace.arena.Take(4 * s.rows)
		if err != nil {
			return rowid.Origin{}, err
		}
		return rowid.Origin{Positions: none}, e.workspace.main.Stream().Memset(none, 0xff, 4*s.rows)
	}
	if m.view.source == nil {
		return rowid.Origin{Positions: m.positions, First: m.view.first()}, nil
	}
	numbers, err := m.view.rowsOnDevice(ctx, e.workspace.main.Stream())
	return rowid.Origin{Positions: m.positions, Numbers: numbers}, err
}

// Space makes the groups an input of the plan.
func (g *groups) Space(ctx context.Context) (device.Space, error) {
	start := time.Now()
	defer func() { g.took += time.Since(start) }()
	made := &rowid.Owned{Memory: g.e.workspace}
	v, err := g.derive(ctx, made)
	if err != nil {
		made.Release()
		return nil, err
	}
	s := v.space()
	s.free = made.Release
	return s, nil
}

// derive makes a view of the groups.
func (g *groups) derive(ctx context.Context, memory *rowid.Owned) (*view, error) {
	rows, err := g.groups.Finish(ctx, memory)
	if err != nil {
		return nil, err
	}
	v, err := g.e.derivedView(g.spec.ID, rows.Rows, g.spec.Columns)
	if err != nil {
		return nil, err
	}
	keys := len(g.spec.Keys)
	for i, c := range rows.Columns {
		if i >= keys {
			i += len(g.spec.Carry)
		}
		v.columns[i] = &column{Column: c}
	}
	v.derived.firsts = map[int]driver.Ptr{}
	for i, input := range g.inputs {
		v.derived.firsts[input] = rows.Firsts[i]
	}
	for i, ref := range g.spec.Carry {
		if !g.e.describe(ref).Movable() { // fetched by the host
			if v.derived.from[keys+i], err = g.follow(memory, ref, v); err != nil {
				return nil, err
			}
			continue
		}
		c, err := g.carried(ctx, memory, ref, v)
		if err != nil {
			return nil, err
		}
		v.columns[keys+i] = &column{Column: c}
	}
	ready, err := g.e.workspace.event()
	if err != nil {
		return nil, err
	}
	for _, c := range v.columns {
		if c != nil {
			c.ready = ready
		}
	}
	return v, g.e.workspace.main.Stream().Record(ready)
}

// follow returns the column of an input on the host that a carried column is, and
// makes the rows of that input known: groups below are released.
func (g *groups) follow(memory *rowid.Owned, ref joincore.ColumnRef, v *view) (*joincore.ColumnRef, error) {
	below := g.e.inputs[ref.Input].all.derived
	if below == nil {
		return &ref, nil
	}
	from := below.from[ref.Column]
	if from == nil {
		return nil, fmt.Errorf("a carried column of %d bytes: %w", g.e.describe(ref).Width, joincore.ErrUnsupported)
	}
	if _, known := v.derived.firsts[from.Input]; known {
		return from, nil
	}
	first, err := memory.Alloc(4 * v.rows)
	if err != nil {
		return nil, err
	}
	v.derived.firsts[from.Input] = first
	return from, g.e.workspace.main.Compose(v.derived.firsts[ref.Input], below.firsts[from.Input], v.rows, first)
}

// carried gathers a column for each group.
func (g *groups) carried(ctx context.Context, memory *rowid.Owned, ref joincore.ColumnRef, v *view) (rowid.Column, error) {
	main := g.e.workspace.main
	base, err := g.e.inputs[ref.Input].all.column(ctx, ref.Column)
	if err != nil {
		return rowid.Column{}, err
	}
	if err := main.Stream().Wait(base.ready); err != nil {
		return rowid.Column{}, err
	}
	from := base.Column
	from.Positions, from.Optional = v.derived.firsts[ref.Input], true
	out := rowid.Column{Width: from.Width}
	if out.Values, err = memory.Alloc(v.rows * int64(out.Width)); err != nil {
		return out, err
	}
	if out.Validity, err = memory.Alloc(v.rows); err != nil {
		return out, err
	}
	return out, main.Gather(from, 0, v.rows, out.Values, out.Validity)
}

// Report says what was done.
func (g *groups) Report() joincore.AggregateStats {
	s := joincore.AggregateStats{Strategy: "hash", RowsIn: g.groups.Rows(), Groups: g.groups.Count(), Time: g.took, Bytes: g.most}
	if len(g.spec.Keys) == 0 {
		s.Strategy = "one group"
	}
	return s
}

// Release frees the table.
func (g *groups) Release() { g.groups.Release() }

// derived is what a view of groups has in place of an input on the host: columns that
// belong to a row of another input for each group. Those that kernels can gather are on
// the device; the host fetches the others by row number.
type derived struct {
	from   []*joincore.ColumnRef    // of each column of the view; nil: it is the view's own
	firsts map[int]driver.Ptr       // of each such input, uint32 a group: its row, or None
	onHost map[int][]uint32         // the same, as far as it was needed on the host
	values map[int]*hostinput.Input // columns of the view's own, likewise
}

// derivedView makes an aggregate's result an input.
func (e *execution) derivedView(number int, rows int64, columns []joincore.Column) (*view, error) {
	host, err := hostinput.Derived(number, rows, columns)
	if err != nil {
		return nil, err
	}
	for len(e.inputs) <= number {
		e.inputs = append(e.inputs, nil)
	}
	v := &view{
		workspace: e.workspace, input: host, number: number, rows: rows, columns: make([]*column, len(columns)),
		derived: &derived{from: make([]*joincore.ColumnRef, len(columns)), onHost: map[int][]uint32{}, values: map[int]*hostinput.Input{}},
	}
	e.inputs[number] = &input{Input: host, all: v}
	return v, nil
}

// reader returns what reads a column on the host, and the rows of its input there. Rows
// of groups lead to those of an input.
func (st *stream) reader(ctx context.Context, ref joincore.ColumnRef, rows hostinput.Numbers, n int) (hostinput.Reader, hostinput.Numbers, error) {
	for {
		in := st.e.inputs[ref.Input]
		d := in.all.derived
		if d == nil {
			return in.Reader(ref.Column), rows, nil
		}
		from := d.from[ref.Column]
		if from == nil {
			list, err := st.valuesOnHost(ctx, in.all, ref.Column)
			if err != nil {
				return hostinput.Reader{}, rows, err
			}
			return list.Reader(0), rows, nil
		}
		first, err := st.firstsOnHost(ctx, in.all, from.Input)
		if err != nil {
			return hostinput.Reader{}, rows, err
		}
		rows, ref = rows.Through(first, n), *from
	}
}

// firstsOnHost returns the row of an input of each group.
func (st *stream) firstsOnHost(ctx context.Context, v *view, input int) ([]uint32, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if list, ok := v.derived.onHost[input]; ok {
		return list, nil
	}
	list, err := st.readNumbers(ctx, v.derived.firsts[input], v.rows)
	if err == nil {
		v.derived.onHost[input] = list
	}
	return list, err
}

// valuesOnHost returns a column of groups that no kernel gathers: sums of squares.
func (st *stream) valuesOnHost(ctx context.Context, v *view, j int) (*hostinput.Input, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, ok := v.derived.values[j]; ok {
		return known, nil
	}
	c, desc := v.columns[j], v.input.Relation.Columns[j]
	words := v.rows * int64(desc.Width) / 4
	values, err := st.readNumbers(ctx, c.Values, words)
	if err != nil {
		return nil, err
	}
	valid, err := st.readNumbers(ctx, c.Validity, (v.rows+3)/4)
	if err != nil {
		return nil, err
	}
	vector := joincore.Vector{Validity: make([]byte, (v.rows+7)/8)}
	for _, w := range values {
		vector.Values = binary.LittleEndian.AppendUint32(vector.Values, w)
	}
	for i := range v.rows {
		vector.Validity[i/8] |= byte(valid[i/4]>>(i%4*8)) & 1 << (i % 8)
	}
	known, err := hostinput.New(v.number, &joincore.Relation{
		Columns: []joincore.Column{desc}, Segments: []joincore.Segment{{Rows: int(v.rows), Columns: []joincore.Vector{vector}}},
	})
	if err == nil {
		v.derived.values[j] = known
	}
	return known, err
}
