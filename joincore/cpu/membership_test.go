package cpu

import (
	"context"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore/device"
)

// TestMembership: sparse keys that many rows probe get bits, and all rows that these drop have
// no partner. Where the bits drop few rows, they are no longer tested.
func TestMembership(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d := openDev(t, 2, 0)
	rows := make([]keyedRow, 100)
	in := map[uint64]bool{}
	for i := range rows {
		rows[i].key = r.Int64N(50000) - 9000
		in[uint64(rows[i].key)] = true
	}
	m := &device.Match{Build: keyOf(0), Probe: keyOf(0), Emit: device.Pairs, ProbeRows: 1 << 20}
	from := importRows(t, d, 0, rows, 30)
	built, err := d.Build(context.Background(), from, m)
	if err != nil {
		t.Fatal(err)
	}
	defer built.Release()
	table := built.(*table)
	if table.member == nil {
		t.Fatal("no bits")
	}
	s := newSelection(4096)
	for round := range 20 {
		keys := make([]uint64, 4096)
		for i := range keys {
			keys[i] = uint64(r.Int64N(70000) - 20000)
			if round >= 10 {
				keys[i] = uint64(rows[r.IntN(len(rows))].key)
			}
		}
		passed, sel := s.apply(table, keys, nil)
		if (sel == nil) != (round > 13) { // more than a quarter of all rows so far has passed
			t.Fatalf("round %d: bits are tested: %v", round, sel != nil)
		}
		if sel == nil {
			continue
		}
		at := 0
		for i, k := range keys {
			if !in[k] {
				continue
			}
			if at == len(passed) || passed[at] != k || sel[at] != uint32(i) {
				t.Fatalf("round %d: key %d of row %d is not passed", round, int64(k), i)
			}
			at++
		}
		if at != len(passed) {
			t.Fatalf("round %d: %d keys pass, not %d", round, len(passed), at)
		}
	}
	for probes, want := range map[int64]bool{0: false, 400: false, 1 << 20: true} {
		for span, wide := range map[int64]bool{150: false, 1 << 16: true, 1 << 30: false} {
			if got := worthMembership(device.KeyRange{Rows: 100, Low: -50, High: span - 50}, probes); got != (want && wide) {
				t.Errorf("%d probes of 100 keys in a range of %d: %v", probes, span, got)
			}
		}
	}
	if worthMembership(device.KeyRange{}, 1<<20) {
		t.Error("bits of no keys")
	}
}
