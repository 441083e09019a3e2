package cpu

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// TestSlotsOfAPartitionAreSpread: keys of one radix partition, however many bits number
// it, begin at as many entries of a table of groups as keys of any partition do.
func TestSlotsOfAPartitionAreSpread(t *testing.T) {
	const n, entries = 512, 1024
	keys := map[string]func(i uint64) uint64{
		"dense": func(i uint64) uint64 { return i }, "sparse": func(i uint64) uint64 { return i * 0x9e3779b97f4a7c15 },
		"high": func(i uint64) uint64 { return i << 32 }, "negative": func(i uint64) uint64 { return -i },
	}
	for name, key := range keys {
		for _, seed := range []uint64{0, 0x1234567890abcdef} {
			for bits := uint(0); 1<<bits <= mostParts; bits++ {
				slots := map[uint64]bool{}
				found := 0
				for i := uint64(0); found < n; i++ {
					hash := mix(key(i) ^ seed)
					if hash>>(64-bits) != 1<<bits/3 {
						continue
					}
					found++
					slots[slotOf(hash, 64-10)] = true
				}
				// n random slots of 2 n are 0.79 n different ones; the deviation is 0.01 n.
				if least := n * 7 / 10; len(slots) < least {
					t.Errorf("%s keys, seed %#x, %d bits: %d keys have %d slots of %d, fewer than %d", name, seed, bits, n, len(slots), entries, least)
				}
			}
		}
	}
}

// TestGroupsInTheOrderOfTheirHash: a table that grows with its groups has each near the entry
// at which its search begins, at any time, if they come in the order of radix partitions.
// Groups of a partition of a grouper's own have the highest bits of the hash in common.
func TestGroupsInTheOrderOfTheirHash(t *testing.T) {
	const n, chunk = 1 << 14, 512
	d := openDev(t, 1, chunk)
	column := joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	made, err := d.Aggregate(&device.AggregateSpec{
		ID: 1, Keys: []joincore.Value{joincore.ColumnRef{}}, Columns: []joincore.Column{column}, Schema: joincore.Schema{{column}},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := made.(*aggregation)
	defer a.Release()
	for level := range uint(3) {
		for bits := range uint(17) {
			g, err := a.newGrouper(level)
			if err != nil {
				t.Fatal(err)
			}
			same := level * fanBits
			hashes := orderedHashes(n, same, same+bits)
			for at := 0; at < n; at += chunk {
				g.keys.use(chunk)
				for i, hash := range hashes[at : at+chunk] {
					g.keys.words[0][i] = unmix(hash) ^ d.seed
				}
				g.hash()
				if _, err := g.table.find(&g.keys, g.group[:chunk], n); err != nil {
					t.Fatal(err)
				}
				// Of a table that is half full, an entry is half an entry from there on average.
				if mean := meanDistance(&g.table); mean > 1 {
					t.Errorf("level %d, in the order of %d bits: %d groups are %.1f entries from where their search begins", level, bits, at+chunk, mean)
					break
				}
			}
			g.release()
		}
	}
}

// orderedHashes makes hashes that have the highest same bits in common and are in the order
// of the highest ordered bits.
func orderedHashes(n int, same, ordered uint) []uint64 {
	r := rand.New(rand.NewPCG(uint64(same), uint64(ordered)))
	hashes := make([]uint64, n)
	for i := range hashes {
		hashes[i] = r.Uint64()>>same | ^(^uint64(0) >> same)
	}
	slices.SortStableFunc(hashes, func(a, b uint64) int { return cmp.Compare(a>>(64-ordered), b>>(64-ordered)) })
	return hashes
}

// meanDistance returns how many entries the groups of a table are from where the search for
// them begins.
func meanDistance(t *groupTable) float64 {
	mask, sum := uint64(len(t.entries)-1), uint64(0)
	for at, e := range t.entries {
		if e.group != 0 {
			sum += (uint64(at) - slotOf(t.hashOf(int(e.group)), t.shift)) & mask
		}
	}
	return float64(sum) / float64(t.n)
}

// unmix is the inverse of mix.
func unmix(x uint64) uint64 {
	x *= inverse(0xd6e8feb86659fd93)
	x ^= x>>29 ^ x>>58
	x *= inverse(0x9fb21c651e98df25)
	return x ^ x>>32
}

// inverse returns the inverse of an odd number modulo 1<<64.
func inverse(a uint64) uint64 {
	x := a
	for range 5 {
		x *= 2 - a*x
	}
	return x
}
