package source

import (
	"math"
	"testing"
)

// A snapshot sees what had ended when it was taken, whatever the numbers have wrapped around.
func TestVisibility(t *testing.T) {
	v, err := parseVisibility("4294967290:4294967305:4294967295,4294967297,4294967300")
	if err != nil {
		t.Fatal(err)
	}
	for xid, want := range map[uint32]bool{
		math.MaxUint32 - 100: true, math.MaxUint32: false, 0: true, 1: false, 3: true, 4: false, 8: true, 9: false, 10: false,
	} {
		if v.sees(xid) != want {
			t.Errorf("%d: %v", xid, !want)
		}
	}
	var p published
	p.add(8)
	if !p.visibleIn(v) {
		t.Error("8 is not visible")
	}
	p.add(4)
	for range len(p.xids) - 1 {
		p.add(3)
	}
	if p.visibleIn(v) {
		t.Error("4 is visible")
	}
	p.forget()
	if !p.visibleIn(v) {
		t.Error("4 is not forgotten")
	}
	if v, err := parseVisibility("5:5:"); err != nil || !v.sees(4) || v.sees(5) {
		t.Errorf("without running transactions: %v, %v", v, err)
	}
	for _, text := range []string{"", "1:2", "1:x:", "1:2:a", "1:2:3:4", "1:-2:"} {
		if _, err := parseVisibility(text); err == nil {
			t.Errorf("%q is valid", text)
		}
	}
}
