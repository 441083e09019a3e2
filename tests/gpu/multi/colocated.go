package multi

// colocated is the keys of a join in which half of the partitions have few build rows, of as many
// probe rows as the others. Which partition a key is in follows from the highest bits of its hash:
// so keys are made of hashes, whose highest bit is set in those of the few build rows.
type colocated struct {
	build int64  // rows, a multiple of rareEvery
	seed  uint32 // of the hash
}

// One build row of rareEvery, the last one, is in the partitions that have few.
const rareEvery = 129

// key returns the key of a build row. No other row has it.
func (c colocated) key(row int64) uint32 {
	if row%rareEvery == rareEvery-1 {
		return unhashed(1<<31|scattered(uint32(row/rareEvery))) ^ c.seed
	}
	return unhashed(scattered(uint32(row-row/rareEvery))) ^ c.seed
}

// partner returns the build row whose key a probe row has.
func (c colocated) partner(row int64) int64 {
	x, rare := mixed(uint64(row)), c.build/rareEvery
	if x&1 != 0 {
		return int64(x>>1)%rare*rareEvery + rareEvery - 1
	}
	n := int64(x>>1) % (c.build - rare)
	return n + n/(rareEvery-1)
}

// scattered is a permutation of the numbers of 31 bits.
func scattered(x uint32) uint32 {
	const mask = 1<<31 - 1
	x = x * 0x9e3779b1 & mask
	x ^= x >> 15
	x = x * 0x2c1b3c6d & mask
	return x ^ x>>13
}

// unhashed returns the key of 4 bytes that has a hash by a seed of 0: it inverts block/hash.cuh of
// the kernels.
func unhashed(x uint32) uint32 {
	x ^= x >> 16
	x *= inverse(0x846ca68b)
	x ^= x>>15 ^ x>>30
	x *= inverse(0x7feb352d)
	return x ^ x>>16
}

// inverse returns the number by which an odd number is multiplied to 1.
func inverse(x uint32) uint32 {
	y := x // right in the lowest three bits, and each step doubles them
	for range 4 {
		y *= 2 - x*y
	}
	return y
}

// mixed is a bijection whose values look random.
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
