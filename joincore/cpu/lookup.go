//go:build amd64 || arm64

package cpu

// lookup finds the chain of each key: head[i] is the position, plus 1, of the first
// row with the key, or 0. It works in rounds without data-dependent branches: each
// round reads one entry for every undecided key, so that many cache misses overlap.
// todo and slot are scratch.
func (t *table) lookup(keys []uint64, head, todo, slot []uint32) {
	entries, seed, skip, shift := t.entries, t.dev.seed, t.skip, t.shift
	head, slot, todo = head[:len(keys)], slot[:len(keys)], todo[:len(keys)]
	left := 0
	for i, key := range keys {
		at := mix(key^seed) << skip >> shift
		e := &entries[at]
		h := e.head
		more := 1
		if h == 0 {
			more = 0
		}
		if e.key == key {
			more = 0
		} else {
			h = 0
		}
		head[i] = h
		todo[left] = uint32(i)
		slot[left] = uint32(at)
		left += more
	}
	wrap := uint32(t.wrap)
	for left > 0 {
		n := left
		left = 0
		for j, i := range todo[:n] {
			at := slot[j]
			at = at&^wrap | (at+1)&wrap
			e, key := &entries[at], keys[i]
			h := e.head
			more := 1
			if h == 0 {
				more = 0
			}
			if e.key == key {
				more = 0
			} else {
				h = 0
			}
			head[i] = h
			todo[left] = i
			slot[left] = at
			left += more
		}
	}
}
