package packing

// hash is the hash of a key in as many bits as the key has: block/hash.cuh of the kernels. Its highest
// bits number the partition.
func (c Coding) hash(key uint64) uint64 {
	if c.KeyWords == 1 {
		x := uint32(key) ^ uint32(c.Seed)
		x ^= x >> 16
		x *= 0x7feb352d
		x ^= x >> 15
		x *= 0x846ca68b
		return uint64(x ^ x>>16)
	}
	x := key ^ c.Seed
	for range 2 {
		x ^= x >> 32
		x *= 0xd6e8feb86659fd93
	}
	return x ^ x>>32
}

// unhash returns the key of a hash.
func (c Coding) unhash(hash uint64) uint64 {
	if c.KeyWords == 1 {
		x := uint32(hash)
		x ^= x >> 16
		x *= 0x43021123 // times 0x846ca68b: 1
		x ^= x>>15 ^ x>>30
		x *= 0x1d69e2a5 // times 0x7feb352d: 1
		return uint64(x ^ x>>16 ^ uint32(c.Seed))
	}
	x := hash
	for range 2 {
		x ^= x >> 32
		x *= 0xcfee444d8b59a89b // times 0xd6e8feb86659fd93: 1
	}
	return x ^ x>>32 ^ c.Seed
}

// Partition returns the partition of a row's key.
func (c Coding) Partition(row []uint32) uint32 {
	return uint32(c.hash(uint64(c.value(row, 0))) >> (c.keyBits() - c.SharedBits))
}

// WithKey returns the key in a partition whose hash ends with the bits of x.
func (c Coding) WithKey(partition uint32, x uint64) uint64 {
	own := c.keyBits() - c.SharedBits
	return c.unhash(uint64(partition)<<own | x&ones(own))
}
