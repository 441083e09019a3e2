package multi

import "testing"

// hashed is the hash of a key of 4 bytes by a seed of 0: block/hash.cuh of the kernels.
func hashed(x uint32) uint32 {
	x ^= x >> 16
	x *= 0x7feb352d
	x ^= x >> 15
	x *= 0x846ca68b
	return x ^ x>>16
}

// A hash of the kernels has one key, and a key its hash.
func TestUnhashed(t *testing.T) {
	for i := range uint32(100_000) {
		if x := i * 0x9e3779b1; unhashed(hashed(x)) != x || hashed(unhashed(x)) != x {
			t.Fatalf("%#x has the hash %#x, of which %#x is made", x, hashed(x), unhashed(hashed(x)))
		}
	}
}

// Build keys are distinct. Half of the hashes' range, and so half of the partitions, has one build
// row of 129, and half of the probe rows.
func TestColocatedKeys(t *testing.T) {
	c := colocated{build: rareEvery << 8, seed: 0x12345678}
	rows := map[uint32]int64{}
	var build, probe [8]int64 // by the highest bits of the hash
	for row := range c.build {
		key := c.key(row)
		if other, ok := rows[key]; ok {
			t.Fatalf("rows %d and %d have the same key", other, row)
		}
		rows[key] = row
		build[hashed(key^c.seed)>>29]++
	}
	const probes = 1 << 16
	for row := range int64(probes) {
		partner := c.partner(row)
		if partner < 0 || partner >= c.build {
			t.Fatalf("probe row %d has the key of build row %d of %d", row, partner, c.build)
		}
		probe[hashed(c.key(partner)^c.seed)>>29]++
	}
	for p := range build {
		want, unit := c.build/rareEvery*(rareEvery-1)/4, "many"
		if p >= 4 {
			want, unit = c.build/rareEvery/4, "few"
		}
		if build[p] < want/2 || build[p] > 2*want {
			t.Errorf("part %d of the hashes, of %s build rows, has %d, want about %d", p, unit, build[p], want)
		}
		if probe[p] < probes/8/2 || probe[p] > probes/8*2 {
			t.Errorf("part %d of the hashes has %d of %d probe rows", p, probe[p], probes)
		}
	}
}
