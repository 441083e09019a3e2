package launch

// What one access of a random place moves between memory and the cache, in
// bytes, where the cache does not hold the place. A read brings two sectors of
// 32 bytes (ncu counts 61.5 bytes a value of 4 bytes out of 512 MiB on an H200);
// what was written goes back by the sector.
const (
	ReadAtRandom    = 64
	WrittenAtRandom = 32
)

// random models the bytes that n accesses, unit bytes each, of random places in
// `of` bytes move where a cache holds so many: what it holds moves once.
func random(n, unit, of, cache int64) int64 {
	held := min(of, cache)
	if of == 0 || n == 0 {
		return 0
	}
	far := float64(of-held) / float64(of)
	return min(n*unit, held+int64(far*float64(n*unit)))
}
