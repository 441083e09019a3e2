package columnar

// The bytes that one random access moves between memory and the cache if it misses.
// A read moves two sectors of 32 bytes (ncu counts 61.5 bytes per 4-byte value out of
// 512 MiB on an H200); a written sector is written back alone.
const (
	ReadAtRandom    = 64
	WrittenAtRandom = 32
)

// random models the bytes moved by n random accesses of `unit` bytes within `of`
// bytes and with a cache of `cache` bytes: cached data moves once.
func random(n, unit, of, cache int64) int64 {
	held := min(of, cache)
	if of == 0 || n == 0 {
		return 0
	}
	far := float64(of-held) / float64(of)
	return min(n*unit, held+int64(far*float64(n*unit)))
}
