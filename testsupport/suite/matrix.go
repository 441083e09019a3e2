package suite

import (
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
)

var (
	sizes   = []int{0, 1, 2, 31, 32, 33, 63, 64, 65, 100, 200}
	batches = []int{1, 2, 3, 1023}
	chunks  = []int{1, 7, 32, 64, 4096}
	emits   = []int{1, 5, 32, 33, 1 << 14}
)

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func (s Subject) check(t *testing.T, c joinCase) {
	t.Helper()
	plan, inputs := c.plan()
	Check(t, c.String(), s.Provider, plan, inputs, c.batch, c.options())
}

// Matrix compares algorithms x build sides x kinds x key types x distributions
// with the oracle. The seed determines sizes, chunks, batches and the rest,
// such that every pair of values occurs often.
func Matrix(t *testing.T, s Subject) {
	seed := uint64(0)
	for _, keys := range keyTypes {
		t.Run(keys.name, func(t *testing.T) {
			for _, dist := range distributions {
				for _, a := range s.Algorithms {
					for _, kind := range kinds {
						for _, buildLeft := range []bool{false, true} {
							seed++
							r := rand.New(rand.NewPCG(seed, 2))
							c := joinCase{
								algorithm: a, buildLeft: buildLeft, kind: kind, keys: keys, dist: dist,
								left: pick(r, sizes), right: pick(r, sizes),
								segment: 1 + r.IntN(120), chunk: pick(r, chunks), emit: pick(r, emits),
								batch: pick(r, batches), bits: 1 + r.IntN(4),
								streams: 1 + r.IntN(3), residual: r.IntN(3) == 0, seed: seed,
							}
							if c.chunk < 32 {
								c.batch = min(c.batch, 3) // because a batch is copied with every chunk
							}
							if c.meaningful() && !s.leftOut(seed, 7) {
								s.check(t, c)
							}
						}
					}
				}
			}
		})
	}
}

// Sizes runs every pair of sizes around a chunk of 32 rows.
func Sizes(t *testing.T, s Subject) {
	seed := uint64(1 << 20)
	for _, a := range s.Algorithms {
		t.Run(a.String(), func(t *testing.T) {
			for _, left := range sizes {
				for _, right := range sizes {
					for _, kind := range kinds {
						seed++
						if s.leftOut(seed, 7) {
							continue
						}
						s.check(t, joinCase{
							algorithm: a, buildLeft: seed%2 == 0, kind: kind, keys: keyTypes[0],
							dist: distributions[seed%5], left: left, right: right, segment: 40, chunk: 32, emit: 32,
							batch: batches[seed%4], bits: 2, streams: 2, seed: seed,
						})
					}
				}
			}
		})
	}
}

// Tile runs sizes around the default chunk.
func Tile(t *testing.T, s Subject) {
	seed := uint64(1 << 21)
	for _, left := range []int{4095, 4096, 4097, 8193} {
		for _, a := range s.Algorithms {
			for _, kind := range []joincore.Kind{joincore.Inner, joincore.Full, joincore.Anti} {
				for _, buildLeft := range []bool{false, true} {
					seed++
					if s.leftOut(seed, 5) {
						continue
					}
					s.check(t, joinCase{
						algorithm: a, buildLeft: buildLeft, kind: kind, keys: keyTypes[0],
						dist: distributions[seed%5], left: left, right: 20, segment: 8192, batch: 1023, bits: 2, streams: 2, seed: seed,
					})
				}
			}
		}
	}
}
