package shm

import "testing"

// A load is whole only if every byte is of one write.
func TestLoadTorn(t *testing.T) {
	before := Load{Beats: 0x00ff, Running: 3, Threads: 4, Queued: 7, ProcessorShare: 800}.Seal()
	after := Load{Beats: 0x0100, Running: 5, Threads: 5, Queued: 9, ProcessorShare: 90}.Seal()
	old, now := Append(nil, &before), Append(nil, &after)
	if !before.Whole() || !after.Whole() {
		t.Fatal("a sealed load is not whole")
	}
	if (&Load{}).Whole() {
		t.Error("bytes that were never written are whole")
	}
	for from := range old {
		for to := from + 1; to <= len(old); to++ {
			if from == 0 && to == len(old) {
				continue
			}
			torn := append([]byte(nil), old...)
			copy(torn[from:to], now[from:to])
			if string(torn) == string(old) || string(torn) == string(now) {
				continue
			}
			l, err := Decode[Load](torn)
			if err != nil {
				t.Fatal(err)
			}
			if l.Whole() {
				t.Errorf("bytes %d to %d are of another write, and nothing tells", from, to)
			}
		}
	}
}

// The sum has the published value, so that the extension's code computes the same one.
func TestLoadCheck(t *testing.T) {
	l := Load{Beats: 1, Running: 2, Threads: 3, Queued: 4, ProcessorShare: 6, AtUS: 7}.Seal()
	sum := uint64(0xcbf29ce484222325)
	for _, b := range Append(nil, &l)[:40] {
		sum = (sum ^ uint64(b)) * 0x100000001b3
	}
	if l.Check != sum {
		t.Errorf("check is %#x, FNV-1a %#x", l.Check, sum)
	}
}
