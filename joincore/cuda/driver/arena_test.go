//go:build cuda

package driver

import (
	"errors"
	"math"
	"testing"

	"gpujoin/joincore"
)

// TestHeldMemoryIsNotCutOff: held memory can be rewound and taken again, also in a
// smaller size, and the rest is not cut off before its release.
func TestHeldMemoryIsNotCutOff(t *testing.T) {
	a := &Arena{base: 1 << 20, size: 4 * Line}
	mark := a.Mark()
	_, err := a.Take(3 * Line)
	must(t, err)
	release := a.Hold()
	a.Rewind(mark)
	_, err = a.Take(Line)
	must(t, err)
	if _, err := a.Cut(2 * Line); !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("memory that is held was cut off: %v", err)
	}
	at, err := a.Cut(Line)
	must(t, err)
	if at != a.Base()+3*Line {
		t.Errorf("cut at %d", at-a.Base())
	}
	second, err := a.Take(2 * Line)
	must(t, err)
	if second != a.Base()+Line {
		t.Errorf("what is held was taken at %d", second-a.Base())
	}
	a.Rewind(mark)
	release()
	if _, err := a.Cut(3 * Line); err != nil {
		t.Errorf("after the release: %v", err)
	}
}

// TestPinnedMemoryStays: what is pinned is not taken again, whatever is rewound, before its release.
func TestPinnedMemoryStays(t *testing.T) {
	a := &Arena{base: 1 << 20, size: 4 * Line}
	mark := a.Mark()
	_, err := a.Take(Line)
	must(t, err)
	release := a.Pin()
	inner := a.Mark()
	_, err = a.Take(2 * Line)
	must(t, err)
	for _, m := range []Mark{inner, mark} {
		a.Rewind(m)
		at, err := a.Take(Line)
		must(t, err)
		if at != a.Base()+Line {
			t.Errorf("after a rewind to %d, memory at %d was taken", m, at-a.Base())
		}
	}
	release()
	a.Rewind(mark)
	at, err := a.Take(4 * Line)
	must(t, err)
	if at != a.Base() {
		t.Errorf("after the release, memory at %d was taken", at-a.Base())
	}
}

// TestNoArenaHoldsThat: requests that are larger than the arena fail, also those whose number
// of bytes is about to overflow, and take nothing.
func TestNoArenaHoldsThat(t *testing.T) {
	a := &Arena{base: 1 << 20, size: 4 * Line}
	for _, n := range []int64{-1, 4*Line + 1, math.MaxInt64 - 2*Line, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64} {
		if _, err := a.Take(n); !errors.Is(err, joincore.ErrBudget) {
			t.Errorf("took %d bytes: %v", n, err)
		}
		if _, err := a.Cut(n); !errors.Is(err, joincore.ErrBudget) {
			t.Errorf("cut %d bytes off: %v", n, err)
		}
	}
	if a.Mark() != 0 || a.Size() != 4*Line {
		t.Errorf("%d of %d bytes are taken", a.Mark(), a.Size())
	}
}
