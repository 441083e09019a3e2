package cpu

// lookup finds the chain of each key: head[i] is the position, plus 1, of the first
// row with the key, or 0. It works in rounds without data-dependent branches: each
// round reads one entry for every undecided key, so that many cache misses overlap.
// todo and slot are scratch.
func (t *table) lookup(keys []uint64, head, todo, slot []uint32) {
	if t.numbers != nil {
		t.lookupRows(keys, head, todo, slot)
		return
	}
	t.homes(slot, keys)
	entries := t.entries
	head, slot, todo = head[:len(keys)], slot[:len(keys)], todo[:len(keys)]
	left := 0
	for i, key := range keys {
		found, more := entries[slot[i]].test(key)
		head[i] = found
		todo[left] = uint32(i)
		left += more
	}
	wrap := uint32(t.wrap)
	for left > 0 {
		n := left
		left = 0
		for _, i := range todo[:n] {
			at := slot[i]
			at = at&^wrap | (at+1)&wrap
			slot[i] = at
			found, more := entries[at].test(keys[i])
			head[i] = found
			todo[left] = i
			left += more
		}
	}
}

// test returns the head of an entry's chain if it has the key, else 0; and 1 if the
// search goes on behind the entry, because it has another key, else 0. It computes
// both without a branch.
func (e *entry) test(key uint64) (head uint32, more int) {
	other := nonzero(e.key ^ key)
	head = e.head
	return head &^ -uint32(other), int(other & nonzero(uint64(head)))
}

// nonzero returns 1, and 0 for 0, without a branch.
func nonzero(x uint64) uint64 { return (x | -x) >> 63 }

// homes writes the number of the entry at which the search for each key begins.
func (t *table) homes(slot []uint32, keys []uint64) {
	seed, skip, shift := t.dev.seed, t.skip&63, t.shift&63
	slot = slot[:len(keys)]
	for i, key := range keys {
		slot[i] = uint32(mix(key^seed) << skip >> shift)
	}
}
