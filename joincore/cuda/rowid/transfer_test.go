//go:build cuda

package rowid

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
)

func TestValidityIsUnpacked(t *testing.T) {
	r := newRig(t, 64<<20)
	for _, n := range sizes() {
		for _, shift := range []driver.Ptr{0, 1, 3, 4} {
			bits := r.random(int(n+31) / 32 * 4)
			want := bytes.Repeat([]byte{0xa5}, int(n)+16)
			for i := range n {
				want[int(shift)+int(i)] = bits[i/8] >> (i % 8) & 1
			}
			r.scoped(func() {
				to := r.alloc(n + 16)
				r.must(r.Unpack(put(r, bits), n, to+shift))
				if got := get[byte](r, to, n+16); !bytes.Equal(got, want) {
					t.Errorf("%d rows to %d", n, shift)
				}
			})
		}
	}
}

func TestValidityIsPacked(t *testing.T) {
	r := newRig(t, 64<<20)
	for _, n := range sizes() {
		for _, shift := range []int{0, 1, 8, 31} {
			valid := make([]byte, n)
			words := (n + int64(shift) + 31) / 32 * min(n, 1)
			want := bytes.Repeat([]byte{0xff}, int(4*words))
			for i := range valid {
				if valid[i] = byte(r.rand.IntN(2)); valid[i] == 0 {
					want[(i+shift)/8] &^= 1 << ((i + shift) % 8)
				}
			}
			r.scoped(func() {
				to := r.alloc(4*words + 4)
				r.must(r.Pack(put(r, valid), n, shift, to))
				want = append(want, bytes.Repeat([]byte{0xa5}, int(4*words)+4-len(want))...)
				if got := get[byte](r, to, 4*words+4); !bytes.Equal(got, want) {
					t.Errorf("%d rows at bit %d", n, shift)
				}
			})
		}
	}
}

func TestSpansStayInTheHeap(t *testing.T) {
	r := newRig(t, 64<<20)
	for _, n := range sizes() {
		heap := uint64(1000)
		offsets := make([]uint32, n+1)
		for i := range offsets {
			if offsets[i] = r.rand.Uint32() % 1200; r.rand.IntN(10) == 0 {
				offsets[i] = r.rand.Uint32()
			}
		}
		r.scoped(func() {
			to := r.alloc(16 * n)
			r.must(r.Spans(put(r, offsets), 4096, int64(heap), n, to))
			got := get[[2]uint64](r, to, n)
			for i, s := range got {
				end := min(uint64(offsets[i+1]), heap)
				start := min(uint64(offsets[i]), end)
				if s != [2]uint64{4096 + start, end - start} {
					t.Fatalf("span %d of %d: %d, want %d to %d", i, n, s, start, end)
				}
			}
		})
	}
}

// positions makes n positions below limit, some of them None.
func (r *rig) positions(n, limit int64) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		if out[i] = uint32(r.rand.Int64N(limit)); r.rand.IntN(5) == 0 {
			out[i] = None
		}
	}
	return out
}

func TestRowsAreNumbered(t *testing.T) {
	r := newRig(t, 64<<20)
	for _, n := range sizes() {
		r.scoped(func() {
			out := r.alloc(4*n + 4)
			chosen := make([]uint32, n)
			for i := range chosen {
				chosen[i] = uint32(r.rand.Int64N(1 << 31))
			}
			positions := put(r, chosen)
			for _, first := range []int64{0, 1, 3 << 30} {
				for _, from := range []driver.Ptr{0, positions} {
					r.must(r.Number(from, first, n, out))
					for i, got := range get[uint32](r, out, n+1) {
						switch {
						case int64(i) == n:
							if got != 0xa5a5a5a5 {
								t.Fatalf("%d rows: %d follows", n, got)
							}
						case from == 0 && got != uint32(first)+uint32(i) || from != 0 && got != uint32(first)+chosen[i]:
							t.Fatalf("row %d of %d from %d on: %d", i, n, first, got)
						}
					}
				}
			}
		})
	}
}

func TestPositionsAreComposed(t *testing.T) {
	r := newRig(t, 64<<20)
	for _, n := range sizes() {
		inner := r.positions(1000, 1<<32-1)
		outer := r.positions(n, 1000)
		want := slices.Clone(outer)
		for i, p := range outer {
			if p != None {
				want[i] = inner[p]
			}
		}
		r.scoped(func() {
			at, out := put(r, outer), r.alloc(4*n)
			r.must(r.Compose(at, put(r, inner), n, out))
			if got := get[uint32](r, out, n); !slices.Equal(got, want) {
				t.Errorf("%d rows", n)
			}
			r.must(r.Compose(at, 0, n, out))
			if got := get[uint32](r, out, n); !slices.Equal(got, outer) {
				t.Errorf("%d rows of themselves", n)
			}
		})
	}
}

func TestValuesAreGathered(t *testing.T) {
	r := newRig(t, 256<<20)
	const limit = 5000
	for _, width := range []int{1, 2, 4, 8, 16} {
		for _, n := range sizes() {
			for choice := range 8 {
				positioned, nullable, wantsValid := choice&1 != 0, choice&2 != 0, choice&4 != 0
				from := int64(r.rand.IntN(40))
				inputs := int64(limit)
				if !positioned {
					inputs = n + from
				}
				values, validity := r.random(int(inputs)*width), make([]byte, inputs)
				for i := range validity {
					validity[i] = byte(r.rand.IntN(2))
				}
				positions := r.positions(n+from, limit)
				wantValues, wantValid := make([]byte, int(n)*width), make([]byte, n)
				for i := range n {
					at := uint32(from + i)
					if positioned {
						at = positions[at]
					}
					if at != None {
						copy(wantValues[int(i)*width:], values[int(at)*width:][:width])
						if wantValid[i] = 1; nullable {
							wantValid[i] = validity[at]
						}
					}
				}
				r.scoped(func() {
					c := Column{Values: put(r, values), Width: width}
					if nullable {
						c.Validity = put(r, validity)
					}
					if positioned {
						c.Positions = put(r, positions)
					}
					out, valid := r.alloc(n*int64(width)), driver.Ptr(0)
					if wantsValid {
						valid = r.alloc(n)
					}
					r.must(r.Gather(c, from, n, out, valid))
					name := fmt.Sprintf("%d values of %d bytes, positions %v, NULLs %v", n, width, positioned, nullable)
					if !bytes.Equal(get[byte](r, out, n*int64(width)), wantValues) {
						t.Errorf("%s", name)
					}
					if wantsValid && !bytes.Equal(get[byte](r, valid, n), wantValid) {
						t.Errorf("%s: validity", name)
					}
				})
			}
		}
	}
}

func TestMissingColumnsAreGatheredAsNull(t *testing.T) {
	r := newRig(t, 1<<20)
	out, valid := r.alloc(400), r.alloc(100)
	r.must(r.Gather(Column{Width: 4, Missing: true}, 0, 100, out, valid))
	if got := get[byte](r, out, 400); !bytes.Equal(got, make([]byte, 400)) {
		t.Error("values")
	}
	if got := get[byte](r, valid, 100); !bytes.Equal(got, make([]byte, 100)) {
		t.Error("validity")
	}
}

func TestFilterKeepsTheOrder(t *testing.T) {
	r := newRig(t, 256<<20)
	for _, n := range sizes() {
		r.checkFilter(n)
	}
}

// checkFilter filters n rows by a condition over columns of several kinds.
func (r *rig) checkFilter(n int64) {
	r.Helper()
	a, b, positions := make([]int32, 2000), make([]int8, n), r.positions(n, 2000)
	valid := make([]byte, n)
	for i := range a {
		a[i] = int32(r.rand.IntN(200) - 100)
	}
	for i := range b {
		b[i], valid[i] = int8(r.rand.Uint32()), byte(r.rand.IntN(8))
	}
	// Where a < b, or b is NULL, or a > $1.
	limit := int64(r.rand.IntN(150) - 50)
	e := &joincore.Or{Args: []joincore.Expr{
		&joincore.Compare{Op: joincore.Less, Left: joincore.ColumnRef{Input: 0}, Right: joincore.ColumnRef{Input: 1}},
		&joincore.IsNull{Arg: joincore.ColumnRef{Input: 1}},
		&joincore.Compare{Op: joincore.Greater, Left: joincore.ColumnRef{Input: 0}, Right: joincore.ParameterIndex(0)},
		&joincore.Not{Arg: &joincore.IsNull{Arg: joincore.ColumnRef{Input: 2}}},
	}}
	var want []uint32
	for i := range n {
		p := positions[i]
		if valid[i] == 0 || p != None && (int64(a[p]) < int64(b[i]) || int64(a[p]) > limit) {
			want = append(want, uint32(i))
		}
	}
	r.scoped(func() {
		columns := []Column{
			{Values: put(r, a), Positions: put(r, positions), Width: 4, Optional: true},
			{Values: put(r, b), Validity: put(r, valid), Width: 1},
			{Missing: true},
		}
		s := Side{Rows: n, Lookup: func(c joincore.ColumnRef) (Column, error) { return columns[c.Input], nil }}
		out := r.alloc(4 * n)
		got, err := r.Filter(r.ctx, s, e, []joincore.Parameter{{Int: limit}}, out)
		r.must(err)
		if got != int64(len(want)) || !slices.Equal(get[uint32](r, out, got), want) {
			r.Errorf("%d of %d rows, want %d, or others", got, n, len(want))
		}
	})
}
