//go:build cuda

package cuda

import (
	"context"
	"encoding/binary"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
)

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
