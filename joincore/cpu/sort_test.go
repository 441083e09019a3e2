package cpu

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/testsupport/suite"
)

// keyedRow is a row of an int8 key, which may be NULL, and its number.
type keyedRow struct {
	key  int64
	null bool
	row  int32
}

var sortColumns = []joincore.Column{
	{Kind: joincore.Fixed, Width: 8, Align: 8}, {Kind: joincore.Fixed, Width: 4, Align: 4}, {Kind: joincore.Fixed, Width: 16, Align: 8},
}

// importRows makes rows an input: key, number, number twice as 16 bytes.
func importRows(t testing.TB, d *dev, input int, rows []keyedRow, segment int) device.Space {
	t.Helper()
	r := &joincore.Relation{Columns: sortColumns}
	for part := range slices.Chunk(rows, segment) {
		s := joincore.Segment{Rows: len(part), Columns: make([]joincore.Vector, len(sortColumns))}
		validity := make([]byte, (len(part)+7)/8)
		for i, x := range part {
			if !x.null {
				validity[i/8] |= 1 << (i % 8)
			}
			s.Columns[0].Values = binary.LittleEndian.AppendUint64(s.Columns[0].Values, uint64(x.key))
			s.Columns[1].Values = binary.LittleEndian.AppendUint32(s.Columns[1].Values, uint32(x.row))
			for range 2 {
				s.Columns[2].Values = binary.LittleEndian.AppendUint64(s.Columns[2].Values, uint64(x.row))
			}
		}
		s.Columns[0].Validity = validity
		r.Segments = append(r.Segments, s)
	}
	s, err := d.Import(input, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openDev(t testing.TB, streams, chunk int) *dev {
	t.Helper()
	opened, err := New().Open(heapMemory{}, device.Options{Streams: streams, ChunkRows: chunk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return opened.(*dev)
}

// keyOf returns the key of an input's first column.
func keyOf(input int) *device.Key {
	key, _ := device.Keys([]joincore.KeyPair{{Left: joincore.ColumnRef{Input: input}, Right: joincore.ColumnRef{Input: input}, Class: joincore.KeyInt}},
		func(joincore.ColumnRef) joincore.Column { return sortColumns[0] })
	return key
}

// keyDistributions are what sorts differ by: range, repeats, order.
var keyDistributions = map[string]func(r *rand.Rand, i int) int64{
	"any":      func(r *rand.Rand, _ int) int64 { return int64(r.Uint64()) },
	"few":      func(r *rand.Rand, _ int) int64 { return r.Int64N(5) - 2 },
	"dense":    func(r *rand.Rand, _ int) int64 { return r.Int64N(1 << 17) },
	"one":      func(*rand.Rand, int) int64 { return -7 },
	"sorted":   func(_ *rand.Rand, i int) int64 { return int64(i/3) - 100 },
	"reversed": func(_ *rand.Rand, i int) int64 { return -int64(i) },
	"outlier": func(r *rand.Rand, i int) int64 {
		switch i {
		case 6:
			return math.MaxInt64
		case 7:
			return math.MinInt64
		}
		return r.Int64N(100)
	},
	"high": func(r *rand.Rand, _ int) int64 { return r.Int64N(200) << 40 },
}

func TestSortIsStableAndMovesWholeRows(t *testing.T) {
	const block = 1 << 15
	for name, key := range keyDistributions {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{0, 1, 2, 31, 32, 33, 4095, 4097} {
				for _, nulls := range []float64{0, 0.2} {
					for _, keep := range []bool{false, true} {
						checkSort(t, key, n, nulls, keep)
					}
				}
			}
			if suite.Race {
				return // the rest differs in size only
			}
			for _, n := range []int{block - 1, block, block + 1, localRows, localRows + 1, 3 * localRows} {
				checkSort(t, key, n, 0.1, n%2 == 0)
			}
		})
	}
}

func checkSort(t *testing.T, key func(*rand.Rand, int) int64, n int, nulls float64, keep bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), 7))
	rows := make([]keyedRow, n)
	for i := range rows {
		rows[i] = keyedRow{key: key(r, i), null: r.Float64() < nulls, row: int32(i)}
	}
	if got, want := sortRows(t, rows, keep), sortedRows(rows, keep); !slices.Equal(got, want) {
		t.Fatalf("%d rows, NULLs %v, kept %v: not as a stable sort has them", n, nulls, keep)
	}
}

// sortedRows says what a sort returns.
func sortedRows(rows []keyedRow, keepNulls bool) []keyedRow {
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b keyedRow) int {
		switch {
		case a.null || b.null:
			return cmp.Compare(btoi(a.null), btoi(b.null))
		default:
			return cmp.Compare(a.key, b.key)
		}
	})
	if !keepNulls {
		out = slices.DeleteFunc(out, func(x keyedRow) bool { return x.null })
	}
	for i := range out {
		if out[i].null {
			out[i].key = 0
		}
	}
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sortRows sorts with both the number of 4 bytes and that of 16 carried.
func sortRows(t *testing.T, rows []keyedRow, keepNulls bool) []keyedRow {
	t.Helper()
	d := openDev(t, 3, 0)
	number, wide := joincore.ColumnRef{Column: 1}, joincore.ColumnRef{Column: 2}
	sorted, err := d.Sort(context.Background(), importRows(t, d, 0, rows, 10_000), device.TransformSpec{
		Key: keyOf(0), Carry: []joincore.ColumnRef{number, wide}, RowIDs: []int{0}, KeepNulls: keepNulls,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sorted.Release()
	s := asSpace(sorted)
	if repeats := hasRepeats(s.sortedKeys()); s.repeats != repeats {
		t.Fatalf("keys repeat: %v, noted %v", repeats, s.repeats)
	}
	var out []keyedRow
	for i := range s.rows[0] {
		x := keyedRow{row: int32(s.carried[number].v32[0][i]), null: i >= s.keyed}
		if !x.null {
			x.key = int64(s.keys.v64[0][i])
		}
		if w := s.carried[wide].v64[0][2*i:]; w[0] != uint64(x.row) || w[1] != uint64(x.row) {
			t.Fatalf("row %d: carried %d, %v", i, x.row, w[:2])
		}
		segment, at, _ := (&slot{space: d.inputs[0], pos: s.ids[0].v32[0]}).at(i)
		if got := int32(d.inputs[0].columns[1].v32[segment][at]); got != x.row {
			t.Fatalf("row %d: row number leads to row %d, carried %d", i, got, x.row)
		}
		out = append(out, x)
	}
	return out
}

// TestSortStopsWithItsContext: also between the passes of a long sort.
func TestSortStopsWithItsContext(t *testing.T) {
	d := openDev(t, 2, 0)
	in := importRows(t, d, 0, make([]keyedRow, 100), 100)
	cause := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(cause)
	if _, err := d.Sort(ctx, in, device.TransformSpec{Key: keyOf(0)}); !errors.Is(err, cause) {
		t.Error(err)
	}
	if n := d.mem.Used(); n != 0 {
		t.Errorf("%d bytes are not freed", n)
	}
}
