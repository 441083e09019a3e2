//go:build amd64 || arm64

package cpu

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
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
		return []int64{r.Int64N(100), math.MaxInt64, math.MinInt64}[max(i-5, 0)*(8-min(i, 8))%3]
	},
	"high": func(r *rand.Rand, _ int) int64 { return r.Int64N(200) << 40 },
}

func TestSortIsStableAndMovesWholeRows(t *testing.T) {
	const block = 1 << 15
	for name, key := range keyDistributions {
		for _, n := range []int{0, 1, 2, 31, 32, 33, 4095, 4097, block - 1, block, block + 1, 3*block + 17} {
			for _, nulls := range []float64{0, 0.2} {
				r := rand.New(rand.NewPCG(uint64(n), 7))
				rows := make([]keyedRow, n)
				for i := range rows {
					rows[i] = keyedRow{key: key(r, i), null: r.Float64() < nulls, row: int32(i)}
				}
				for _, keep := range []bool{false, true} {
					name := fmt.Sprintf("%s, %d rows, NULLs %v, kept %v", name, n, nulls, keep)
					if got, want := sortRows(t, rows, keep), sortedRows(rows, keep); !slices.Equal(got, want) {
						t.Fatalf("%s: not as a stable sort has them", name)
					}
				}
			}
		}
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
	sorted, err := d.Sort(context.Background(), importRows(t, d, 0, rows, 10_000), device.SortSpec{
		Key: keyOf(0), Carry: []joincore.ColumnRef{number, wide}, RowIDs: []int{0}, KeepNulls: keepNulls,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sorted.Release()
	s := asSpace(sorted)
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

// TestMergePathDividesTheWork: parts cover all rows of the probe side, are
// equal in steps, and begin at the first partner of their first row.
func TestMergePathDividesTheWork(t *testing.T) {
	for name, key := range keyDistributions {
		for _, sizes := range [][2]int{{0, 0}, {0, 9}, {9, 0}, {1, 1}, {1000, 1}, {1, 1000}, {5000, 3000}, {200, 9000}} {
			d := openDev(t, 2, 0)
			var sides [2]*space
			for i, n := range sizes {
				r := rand.New(rand.NewPCG(uint64(n), uint64(i)))
				rows := make([]keyedRow, n)
				for j := range rows {
					rows[j] = keyedRow{key: key(r, j)}
				}
				sorted, err := d.Sort(context.Background(), importRows(t, d, i, rows, 700), device.SortSpec{Key: keyOf(i)})
				if err != nil {
					t.Fatal(err)
				}
				sides[i] = asSpace(sorted)
			}
			build, probe := sides[0].sortedKeys(), sides[1].sortedKeys()
			for _, parts := range []int{1, 3, 16} {
				points, err := d.MergePath(context.Background(), sides[0], sides[1], parts)
				if err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%s, %d x %d, %d parts: %v", name, len(build), len(probe), parts, points)
				if len(points) != parts+1 || points[0].Probe != 0 || points[parts].Probe != int64(len(probe)) {
					t.Fatalf("%s: ends", name)
				}
				for i, p := range points[:parts] {
					n := points[i+1].Probe - p.Probe
					if most := (len(build)+len(probe))/parts + parts; n < 0 || n > int64(most) {
						t.Fatalf("%s: part %d has %d probe rows", name, i, n)
					}
					if int(p.Probe) == len(probe) {
						continue
					}
					first, _ := slices.BinarySearchFunc(build, probe[p.Probe], func(a, b uint64) int { return cmp.Compare(int64(a), int64(b)) })
					if int(p.Build) != first {
						t.Fatalf("%s: part %d begins at build row %d, not %d", name, i, p.Build, first)
					}
				}
			}
		}
	}
}

// TestSortStopsWithItsContext: also between the passes of a long sort.
func TestSortStopsWithItsContext(t *testing.T) {
	d := openDev(t, 2, 0)
	in := importRows(t, d, 0, make([]keyedRow, 100), 100)
	cause := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(cause)
	if _, err := d.Sort(ctx, in, device.SortSpec{Key: keyOf(0)}); !errors.Is(err, cause) {
		t.Error(err)
	}
	if len(d.live) != 0 {
		t.Errorf("%d allocations left", len(d.live))
	}
}
