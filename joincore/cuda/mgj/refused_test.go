//go:build cuda

package mgj

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/columnartest"
)

var errRefused = errors.New("peer access is refused")

// refusing is a fabric that refuses all copies behind a number of them.
type refusing struct {
	copier
	left    atomic.Int64
	refused atomic.Int64
}

func (f *refusing) Copy(h *mesh.Hop, pieces []live.Piece, done func(error)) {
	if f.left.Add(-1) < 0 {
		f.refused.Add(1)
		done(errRefused)
		return
	}
	f.copier.Copy(h, pieces, done)
}

// If access to a peer is refused while rows are exchanged, the join fails with that reason
// when nothing works for it any more, whichever copy it is: of filters, of counts, or of rows.
// The group joins again as soon as copies are possible.
func TestAPeerIsRefused(t *testing.T) {
	for _, ordinals := range layouts(t) {
		if len(ordinals) == 1 {
			continue
		}
		t.Run(fmt.Sprint(ordinals), func(t *testing.T) {
			r := columnartest.New(t, 1<<28)
			b := newBed(t, meshOf(t, len(ordinals)), ordinals...)
			f := &refusing{copier: b.group.through}
			b.group.through = f
			refused := 0
			for _, o := range []Options{{}, {Strategy: Replicate}, {Bloom: true}} {
				for copies := int64(0); ; copies = 2*copies + 1 {
					f.left.Store(copies)
					f.refused.Store(0)
					err := b.attempt(t.Context(), o, 100, 1<<20, nil)
					if f.refused.Load() == 0 {
						if err != nil {
							t.Errorf("%+v with %d copies: %v", o, copies, err)
						}
						break
					}
					refused++
					if !errors.Is(err, errRefused) {
						t.Errorf("%+v after %d copies: returned %v", o, copies, err)
					}
					f.left.Store(1 << 40)
					r.Inner(b.join(o, evenly, uneven), some(3000, 5000, 4, two, columnartest.Spread(3000)))
				}
			}
			if refused < 8 {
				t.Errorf("%d joins were refused", refused)
			}
		})
	}
}
