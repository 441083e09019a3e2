package phj

import (
	"slices"
	"testing"
)

func TestSampleParts(t *testing.T) {
	for _, rows := range [][]int64{{8192}, {1, 8191}, {1 << 31, 1 << 31, 1}, {0, 0, 9000}, {5000, 0, 5000}} {
		parts, sum := SampleParts(rows), 0
		for i, n := range parts {
			sum += n
			if int64(n) > rows[i] {
				t.Errorf("%d rows sampled of %d", n, rows[i])
			}
		}
		if sum != sampleSlots {
			t.Errorf("%v: %v", rows, parts)
		}
	}
	if parts := SampleParts([]int64{8000, 191}); parts != nil {
		t.Errorf("%v of too few rows", parts)
	}
}

func TestKeyCounts(t *testing.T) {
	var counts KeyCounts
	of := func(keys []uint64) *KeyCounts {
		counts.Reset()
		for _, part := range [][]uint64{keys[:1000], nil, keys[1000:]} {
			counts.Add(len(part), func(i int) uint64 { return part[i] })
		}
		return &counts
	}
	rare := make([]uint64, sampleSlots)
	for i := range rare {
		rare[i] = uint64(i/(hotFrom-1)) << 20
	}
	if keys := of(rare).Frequent(); keys != nil {
		t.Errorf("%d rare keys are frequent", len(keys))
	}
	if part := of(rare).Repeated(); part > 0 {
		t.Errorf("%v of rare keys are repeated", part)
	}
	keys := slices.Clone(rare)
	for i := range keys {
		if i/8%2 == 0 {
			keys[i] = uint64(i/8%16) << 40 // also 0, which is no empty slot
		}
	}
	if part := of(keys).Repeated(); part < 0.49 || part > 0.51 {
		t.Errorf("%v are repeated", part)
	}
	frequent := of(keys).Frequent()
	if len(frequent) != sampleSlots {
		t.Fatalf("%d keys", len(frequent))
	}
	for i, k := range frequent {
		if counts.slot(k).count < hotFrom || counts.slot(keys[i]).count >= hotFrom && k != keys[i] {
			t.Fatalf("key %d became %d", keys[i], k)
		}
	}
	if part := counts.Mark(&Hot{Keys: []uint64{2 << 40, 4 << 40}}); part < 0.124 || part > 0.126 {
		t.Errorf("%v are hot", part)
	}
	if part := counts.MostCold(); part < 0.062 || part > 0.063 {
		t.Errorf("%v have one key that is not hot", part)
	}
	hot := []int{counts.Hot(0), counts.Hot(1), counts.Hot(2)}
	if counts.Sampled(0) != 1000 || counts.Sampled(1) != 0 || hot[1] != 0 || hot[0] < 100 || hot[0]+hot[2] != sampleSlots/8 {
		t.Errorf("%v hot rows", hot)
	}
}

// lookedUp returns a device's sample in which the given slots have that many build rows; the
// hot ones are numbered, and their rows have values that tell the slot and the column.
func lookedUp(keyWords int, widths []int, matches map[int]uint32) []uint64 {
	list, n := make([]uint64, hotBytes/8), 0
	for slot := range sampleSlots {
		setWord(list, sampleCount+slot, uint32(slot%8))
		setWord(list, sampleMatches+slot, matches[slot])
		setWord(list, sampleHot+slot, notHot)
		if slot%8 < hotFrom || matches[slot] != 1 {
			continue
		}
		setWord(list, sampleHot+slot, uint32(n))
		at := sampleBytes / 4
		for c, width := range append([]int{4 * keyWords}, widths...) {
			for w := range width / 4 {
				setWord(list, at+n*width/4+w, uint32(slot<<8|c<<4|w))
			}
			at += maxHotKeys * width / 4
		}
		n++
	}
	return list
}

// A key is hot if it is frequent and has one build row on all devices together.
func TestMergeHot(t *testing.T) {
	for _, keyWords := range []int{1, 2} {
		for _, widths := range [][]int{{4}, {8, 8}, {4, 4, 4, 4}} {
			hot := MergeHot([][]uint64{
				lookedUp(keyWords, widths, map[int]uint32{4: 1, 12: 1, 5: 2, 3: 1, 15: 1}),
				lookedUp(keyWords, widths, map[int]uint32{12: 1, 7: 1, 23: 1}),
				lookedUp(keyWords, widths, map[int]uint32{39: 1}),
			}, keyWords, widths)
			want := []int{4, 7, 15, 23, 39}
			if len(hot.Keys) != len(want) || word(hot.words, summaryHot) != uint32(len(want)) {
				t.Fatalf("hot keys %x", hot.Keys)
			}
			numbered := 0
			for slot := range sampleSlots {
				h := word(hot.words, sampleHot+slot)
				if h == notHot {
					continue
				}
				if numbered++; want[h] != slot || word(hot.words, sampleHotRow+int(h)) != h {
					t.Errorf("slot %d has the number %d", slot, h)
				}
				at := sampleBytes / 4
				for c, width := range append([]int{4 * keyWords}, widths...) {
					for w := range width / 4 {
						if got := word(hot.words, at+int(h)*width/4+w); got != uint32(slot<<8|c<<4|w) {
							t.Errorf("slot %d, column %d: %x", slot, c, got)
						}
					}
					at += maxHotKeys * width / 4
				}
			}
			if key := uint64(4 << 8); numbered != len(want) || uint32(hot.Keys[0]) != uint32(key) {
				t.Errorf("%d slots are numbered, keys %x", numbered, hot.Keys)
			}
		}
	}
}

// There is memory for the rows of maxHotKeys keys, and for no more.
func TestMostHotKeys(t *testing.T) {
	matches := [2]map[int]uint32{{}, {}}
	for slot := range sampleSlots {
		if slot%8 >= hotFrom {
			matches[slot/8%2][slot] = 1
		}
	}
	var looked [][]uint64
	for _, m := range matches {
		if len(m) <= maxHotKeys {
			t.Fatal("too few keys")
		}
		list, n := make([]uint64, hotBytes/8), 0
		for slot := range sampleSlots {
			setWord(list, sampleCount+slot, uint32(slot%8))
			setWord(list, sampleMatches+slot, m[slot])
			setWord(list, sampleHot+slot, notHot)
			if m[slot] == 1 && n < maxHotKeys { // as the kernel numbers them
				setWord(list, sampleHot+slot, uint32(n))
				n++
			}
		}
		looked = append(looked, list)
	}
	if hot := MergeHot(looked, 2, []int{8, 8}); len(hot.Keys) != maxHotKeys {
		t.Errorf("%d hot keys", len(hot.Keys))
	}
}
