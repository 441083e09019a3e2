package columnar

import "testing"

func smjVolumeOf(keyBytes int, rows [2]int64, widths [2][]int, outputRows int64) (v smjVolume, in int64) {
	v = smjVolume{keyBytes: keyBytes, rows: rows, widths: widths, rowBytes: int64(keyBytes), outputRows: outputRows}
	v.passes = len(sortShifts(sortBits(rows[0])))
	for i, w := range widths {
		width := int64(keyBytes)
		for _, b := range w {
			width, v.rowBytes = width+int64(b), v.rowBytes+int64(b)
		}
		in += rows[i] * width
	}
	return v, in
}

func sortShifts(n int) []uint64 {
	s, _ := sortDigits(n)
	return s
}

// With row ids in the result's columns SMJ-UM and SMJ-OM are within the bound for every
// shape. One column at a time needs less than all together if there are several and
// the result is no larger than the inputs.
func TestPeakIsWithinTheBound(t *testing.T) {
	const status = 1.0 / 3 // of a long sort
	for _, rows := range [][2]int64{{1 << 27, 1 << 28}, {1 << 24, 1 << 24}, {1 << 10, 1 << 26}} {
		for _, keyBytes := range []int{4, 8} {
			for _, widths := range [][2][]int{{{4}, {4}}, {{4, 4}, {4, 4}}, {{8, 8}, {8, 8}}, {{16, 1}, {4, 8, 2}}, {{1, 2}, {2, 2, 2}}, {nil, {4, 4}}} {
				for _, out := range []int64{0, rows[1] / 16, rows[1], 8 * rows[1]} {
					v, in := smjVolumeOf(keyBytes, rows, widths, out)
					room := Bound(in, rows[0]+rows[1], out*v.rowBytes) - in
					for _, w := range []smjStrategy{sortAll, sortRowIDs} {
						if p := v.peak(w, true, status); p > room {
							t.Errorf("%v rows, keys of %d bytes, payload %v, %d result rows, way %d: %d bytes of %d", rows, keyBytes, widths, out, w, p, room)
						}
					}
				}
			}
		}
	}
	v, _ := smjVolumeOf(4, [2]int64{1 << 27, 1 << 28}, [2][]int{{4, 4, 4, 4}, {4, 4, 4, 4}}, 1<<26)
	if one, all := v.peak(columnAtATime, true, status), v.peak(sortAll, true, status); one > all*2/3 {
		t.Errorf("one column at a time takes %d bytes, all together %d", one, all)
	}
}

// With eight partners per row, row ids outside the result exceed the bound.
func TestNumbersBesideTheResult(t *testing.T) {
	v, in := smjVolumeOf(4, [2]int64{1 << 24, 1 << 24}, [2][]int{{4, 4}, {4, 4}}, 1<<27)
	room := Bound(in, 2<<24, v.outputRows*v.rowBytes) - in
	if p := v.peak(sortRowIDs, false, 1); p <= room {
		t.Errorf("%d bytes of %d", p, room)
	}
	if p := v.peak(sortRowIDs, true, 1); p > room {
		t.Errorf("in place: %d bytes of %d", p, room)
	}
}

func TestNumbered(t *testing.T) {
	for _, c := range []struct {
		widths []int
		want   bool
	}{{nil, false}, {[]int{4}, false}, {[]int{1, 2, 1}, false}, {[]int{2, 2, 2}, false}, {[]int{8}, true}, {[]int{4, 1}, true}} {
		v := smjVolume{widths: [2][]int{c.widths, nil}}
		if v.numbered(sortRowIDs, 0) != c.want || v.numbered(sortAll, 0) || v.numbered(columnAtATime, 0) {
			t.Errorf("payload of widths %v", c.widths)
		}
	}
}

func TestSortBits(t *testing.T) {
	for _, c := range []struct {
		rows int64
		bits int
	}{{0, 1}, {1, 1}, {2, 1}, {3, 2}, {512, 9}, {513, 9}, {2048, 9}, {2049, 12}, {1 << 18, 18}, {1 << 20, 18}, {1<<20 + 1, 21}, {1 << 23, 23}, {1 << 27, 27}, {1 << 29, 27}, {1 << 31, 31}, {1<<32 - 1<<20, 32}} {
		if got := sortBits(c.rows); got != c.bits {
			t.Errorf("%d rows: %d bits in place of %d", c.rows, got, c.bits)
		}
	}
}

// The digits of all passes cover the sorted bits, each once.
func TestDigits(t *testing.T) {
	for n := 1; n <= 32; n++ {
		shift, mask := sortDigits(n)
		if len(shift) > maxSortPasses {
			t.Fatalf("%d bits: %d passes", n, len(shift))
		}
		var all uint64
		for p := range shift {
			if mask[p] == 0 || mask[p] >= sortFan {
				t.Errorf("%d bits: pass %d has the mask %#x", n, p, mask[p])
			}
			if all&(mask[p]<<shift[p]) != 0 {
				t.Errorf("%d bits: pass %d sorts by bits of an earlier one", n, p)
			}
			all |= mask[p] << shift[p]
		}
		if want := uint64(1<<32 - 1<<(32-n)); all != want {
			t.Errorf("%d bits: %#x are sorted in place of %#x", n, all, want)
		}
	}
}
