package cpu

import (
	"cmp"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// TestCompareStored compares columns of each width with constants and with each other, and
// sets of constants: the extremes of all widths, with and without NULLs, in chunks that begin
// anywhere.
func TestCompareStored(t *testing.T) {
	var values []int64
	for _, bits := range []uint{8, 16, 32, 64} {
		most := int64(1)<<(bits-1) - 1
		values = append(values, -most-1, -most, most-1, most)
	}
	values = append(values, -1, 0, 1)
	for _, width := range []int{1, 2, 4, 8} {
		d, s := storedAs(t, width, values)
		st := d.newStream()
		for _, first := range []int{0, 1, 63, 70} {
			for _, n := range []int{1, 64, 130, 200} {
				r := st.Scan(s, 0, first, n).(*rows)
				for op := joincore.Equal; op <= joincore.GreaterEqual; op++ {
					for _, y := range values {
						checkStored(t, d, r, &joincore.Compare{Op: op, Left: joincore.ColumnRef{}, Right: joincore.Int(y)}, func(i int) bool {
							return comparisonOf(op).of(cmp.Compare(storedAt(width, values, first+i, 0), y))
						}, false)
						checkStored(t, d, r, &joincore.Compare{Op: op, Left: joincore.ColumnRef{Column: 1}, Right: joincore.Int(y)}, func(i int) bool {
							return comparisonOf(op).of(cmp.Compare(storedAt(width, values, first+i, 1), y))
						}, true)
					}
					checkStored(t, d, r, &joincore.Compare{Op: op, Left: joincore.ColumnRef{}, Right: joincore.ColumnRef{Column: 2}}, func(i int) bool {
						return comparisonOf(op).of(cmp.Compare(storedAt(width, values, first+i, 0), storedAt(width, values, first+i, 2)))
					}, false)
				}
				for k := range values {
					list := values[k:min(k+4, len(values))]
					checkStored(t, d, r, &joincore.In{Arg: joincore.ColumnRef{}, Ints: list}, func(i int) bool {
						for _, y := range list {
							if storedAt(width, values, first+i, 0) == y {
								return true
							}
						}
						return false
					}, false)
				}
			}
		}
	}
}

// storedAt returns the value of a row of a column.
func storedAt(width int, values []int64, row, column int) int64 {
	unused := 64 - 8*width
	return values[(row*(2*column+1)+column)%len(values)] << unused >> unused
}

// storedNull says which rows of column 1 are NULL.
func storedNull(row int) bool { return row%5 == 3 }

// storedAs returns a device with an input of three columns of a width, of which the second has
// NULLs.
func storedAs(t *testing.T, width int, values []int64) (*dev, *space) {
	t.Helper()
	const n = 400
	segment := joincore.Segment{Rows: n, Columns: make([]joincore.Vector, 3)}
	described := joincore.Column{Kind: joincore.Fixed, Width: width, Align: width}
	for c := range segment.Columns {
		raw := make([]byte, n*width)
		for row := range n {
			x := uint64(storedAt(width, values, row, c))
			for b := range width {
				raw[row*width+b] = byte(x >> (8 * b))
			}
		}
		segment.Columns[c].Values = raw
	}
	validity := make([]byte, n/8)
	for row := range n {
		if !storedNull(row) {
			validity[row/8] |= 1 << (row % 8)
		}
	}
	segment.Columns[1].Validity = validity
	opened, err := New().Open(heapMemory{}, device.Options{Streams: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := opened.Import(0, &joincore.Relation{
		Columns: []joincore.Column{described, described, described}, Segments: []joincore.Segment{segment},
	})
	if err != nil {
		t.Fatal(err)
	}
	return opened.(*dev), asSpace(s)
}

// checkStored compares the truths of a condition, and of rows that are not next to each other.
func checkStored(t *testing.T, d *dev, r *rows, e joincore.Expr, want func(i int) bool, nullable bool) {
	t.Helper()
	st := d.newStream()
	defer st.Close()
	check := func(r *rows, rowOf func(i int) int) {
		out := newTruths(d.chunk)
		if err := compile(e, nil).condition.eval(st, r, out); err != nil {
			t.Fatal(err)
		}
		for i := range r.n {
			row := rowOf(i)
			truth := isFalse
			if nullable && storedNull(int(r.slots[0].space.mask()&first(r, i))) {
				truth = isUnknown
			} else if want(row) {
				truth = isTrue
			}
			if out.of(i) != truth {
				t.Fatalf("%#v: row %d of %d: %d, want %d", e, row, r.n, out.of(i), truth)
			}
		}
	}
	check(r, func(i int) int { return i })
	var sel []uint32
	for i := 0; i < r.n; i += 2 {
		sel = append(sel, uint32(i))
	}
	some := newRows(d.chunk)
	some.take(r, sel, len(sel))
	check(some, func(i int) int { return 2 * i })
}

func first(r *rows, i int) uint32 {
	if s := r.slots[0]; s.pos != nil {
		return s.pos[i]
	}
	return r.slots[0].first + uint32(i)
}
