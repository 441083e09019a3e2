package fabric

import (
	"errors"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
)

// Allocations never overlap, and once all are given back everything can be taken at once.
func TestPool(t *testing.T) {
	const size = 1 << 16
	p := newPool(size + 100)
	r := rand.New(rand.NewPCG(1, 2))
	type held struct{ at, n int64 }
	var all []held
	refused := 0
	for range 5000 {
		if len(all) > 0 && r.IntN(2) == 0 {
			i := r.IntN(len(all))
			p.give(all[i].at, all[i].n)
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
			continue
		}
		n := 1 + r.Int64N(size/8)
		at, err := p.take(n)
		if errors.Is(err, joincore.ErrBudget) {
			refused++
			continue
		}
		if err != nil || at%unit != 0 || at < 0 || at+n > size {
			t.Fatalf("%d bytes at %d, %v", n, at, err)
		}
		for _, h := range all {
			if at < h.at+h.n && h.at < at+n {
				t.Fatalf("[%d, %d) overlaps [%d, %d)", at, at+n, h.at, h.at+h.n)
			}
		}
		all = append(all, held{at, n})
	}
	if refused == 0 {
		t.Error("the pool was never full")
	}
	for _, h := range all {
		p.give(h.at, h.n)
	}
	if at, err := p.take(size); at != 0 || err != nil || p.used != size {
		t.Errorf("everything is at %d, %v", at, err)
	}
}
