package cuda

import (
	"errors"
	"math/rand/v2"
	"testing"
)

var errFull = errors.New("full")

// counted is a heap over [0, size) that checks what it cuts and extends.
func counted(t *testing.T, size int64) (*heap, *int64) {
	end := size
	return &heap{
		cut: func(n int64) (int64, error) {
			if n > end {
				return 0, errFull
			}
			end -= n
			return end, nil
		},
		extend: func(n int64) {
			end += n
			if end > size {
				t.Fatalf("extended to %d of %d", end, size)
			}
		},
	}, &end
}

func TestHeapReturnsEverything(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		const size = 1000
		h, end := counted(t, size)
		var owner [size]int // who has each byte
		live := map[int]span{}
		for id := 1; id < 400; id++ {
			if r.IntN(2) == 0 {
				n := int64(1 + r.IntN(120))
				at, _, err := h.alloc(n)
				if err != nil {
					continue
				}
				if at < *end {
					t.Fatalf("seed %d: given %d below the end %d", seed, at, *end)
				}
				for b := at; b < at+n; b++ {
					if owner[b] != 0 {
						t.Fatalf("seed %d: byte %d given to %d and %d", seed, b, owner[b], id)
					}
					owner[b] = id
				}
				live[id] = span{at, n}
				continue
			}
			for victim, s := range live {
				for b := s.at; b < s.at+s.bytes; b++ {
					owner[b] = 0
				}
				h.release(s.at, s.bytes)
				delete(live, victim)
				break
			}
		}
		for _, s := range live {
			h.release(s.at, s.bytes)
		}
		if *end != size || len(h.free) != 0 {
			t.Fatalf("seed %d: %d of %d returned, free %v", seed, *end, size, h.free)
		}
	}
}

func TestHeapSaysWhatWasUsed(t *testing.T) {
	h, end := counted(t, 100)
	a, used, _ := h.alloc(10)
	b, usedToo, _ := h.alloc(20)
	if used || usedToo || a != 90 || b != 70 {
		t.Fatalf("given %d and %d, used %v and %v", a, b, used, usedToo)
	}
	h.release(a, 10)
	if again, used, _ := h.alloc(5); again != 90 || !used {
		t.Errorf("again %d, used %v", again, used)
	}
	h.release(b, 20) // put back, and cut off again
	if again, used, _ := h.alloc(20); again != 70 || !used {
		t.Errorf("again %d, used %v", again, used)
	}
	if fresh, used, _ := h.alloc(20); fresh != 50 || used {
		t.Errorf("fresh %d, used %v", fresh, used)
	}
	h.reset(nil)
	if *end != 100 {
		t.Errorf("end %d after a reset", *end)
	}
	if _, _, err := h.alloc(101); !errors.Is(err, errFull) {
		t.Errorf("more than there is: %v", err)
	}
}

// Memory behind an address comes from the end of the last free part that is large enough.
func TestHeapGivesMemoryBehind(t *testing.T) {
	h, _ := counted(t, 1000)
	var at [6]int64
	for i := range at {
		at[i], _, _ = h.alloc(100) // each below the one before
	}
	h.release(at[1], 100)
	h.release(at[3], 100)
	if got, ok := h.behind(at[5], 60); !ok || got != at[1]+40 {
		t.Errorf("60 bytes behind %d: %d, %t", at[5], got, ok)
	}
	if got, ok := h.behind(at[5], 60); !ok || got != at[3]+40 {
		t.Errorf("60 more: %d, %t", got, ok)
	}
	if got, ok := h.behind(at[5], 60); ok {
		t.Errorf("60 bytes more than there are: %d", got)
	}
	if got, ok := h.behind(at[2], 40); !ok || got != at[1] {
		t.Errorf("the rest of a part: %d, %t", got, ok)
	}
	if got, ok := h.behind(at[2], 40); ok {
		t.Errorf("the part below the address was given: %d", got)
	}
	for _, s := range []span{{at[0], 100}, {at[1], 100}, {at[2], 100}, {at[3] + 40, 60}, {at[4], 100}, {at[5], 100}} {
		h.release(s.at, s.bytes)
	}
	if len(h.free) != 0 {
		t.Errorf("free parts are left: %v", h.free)
	}
}
