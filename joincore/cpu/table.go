package cpu

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
)

// table is a hash table with linear probing over the distinct keys of its build
// rows; rows with equal keys form a chain. No key value is reserved: an entry is
// empty if it has no position. Equal keys never lengthen a probe sequence, so a
// build side with a single key is as fast as any other.
//
// Bits of the hash: the highest skip bits number the partition, the next bits the
// entry.
type table struct {
	dev     *dev
	space   *space
	entries []entry
	memory  []uint64
	used    int // distinct keys
	skip    uint
	shift   uint     // 64 - log2(len(entries))
	dense   []uint32 // replaces entries: the head of each key from low on
	low     uint64
	wrap    uint64      // a probe sequence stays within wrap+1 entries
	member  *membership // of sparse keys; nil: none was made

	numbers []uint32 // of a partition, replaces entries: the number, plus 1, of a row; 0: empty
	rows    []uint64 // the keys of the partition's rows

	sorted []uint64 // replaces entries: the keys of a sorted space
	cursor int      // where the next chunk's keys may begin in sorted

	first  uint32      // position of chain[0]
	span   int         // number of positions that the table may hold
	chain  []uint32    // the next position with the same key, plus 1; 0: none
	chains atomic.Bool // some key has several rows
	lock   sync.Mutex
}

// entry is one distinct key.
type entry struct {
	key  uint64
	head uint32 // position, plus 1, of the last row with this key; 0: empty
	_    uint32
}

// maxFill is the maximum load factor, in eighths. A fuller table is smaller, but
// makes it unpredictable for branches whether a probe ends at its first entry.
const maxFill = 4

// smallTable is the number of entries up to which a table is twice as large as
// needed: it fits the core's private cache anyway.
const smallTable = 1 << 12

// entriesFor returns the number of entries for n distinct keys of a table that is small
// up to some number of entries.
func entriesFor(n, small int) int {
	size := 1 << bits.Len(uint(max(n*8/maxFill, 8)-1))
	if size <= small {
		size *= 2
	}
	return size
}

// reset empties the table and sizes it for n distinct keys.
func (t *table) reset(ctx context.Context, n int) error {
	if err := t.reserve(entriesFor(n, smallTable)); err != nil {
		return err
	}
	return zero(ctx, t.entries)
}

// reserve gives the table a number of entries, a power of 2, of unspecified content.
func (t *table) reserve(size int) error {
	if size*2 > len(t.memory) {
		free(t.dev, t.memory)
		t.memory, t.entries = nil, nil
		m, err := alloc[uint64](t.dev, size*2)
		if err != nil {
			return err
		}
		t.memory = m
	}
	t.chains.Store(false)
	t.use(t.memory, size)
	return nil
}

// use takes size entries of memory.
func (t *table) use(memory []uint64, size int) {
	t.memory = memory
	t.entries = view[entry](memory)[:size]
	t.shift = 64 - uint(bits.TrailingZeros(uint(size)))
	t.wrap = uint64(size - 1)
	t.used = 0
}

// limit returns the number of distinct keys from which the table grows.
func (t *table) limit() int { return len(t.entries) / 8 * maxFill }

// insert adds rows first.. with the given keys; sel maps keys to rows.
func (t *table) insert(ctx context.Context, keys []uint64, sel []uint32, first uint32) error {
	entries, seed := t.entries, t.dev.seed
	mask := uint64(len(entries) - 1)
	limit := t.limit()
	for i, key := range keys {
		position := first + uint32(i)
		if sel != nil {
			position = first + sel[i]
		}
		at := mix(key^seed) << t.skip >> t.shift & mask
		for {
			e := &entries[at&mask]
			if e.head == 0 {
				if t.used >= limit {
					if err := t.grow(ctx); err != nil {
						return err
					}
					return t.insert(ctx, keys[i:], tail(sel, i), rest(sel, first, i))
				}
				t.used++
				*e = entry{key: key, head: position + 1}
				break
			}
			if e.key == key {
				if err := t.link(ctx, e, position); err != nil {
					return err
				}
				break
			}
			at++
		}
	}
	return nil
}

func tail(sel []uint32, i int) []uint32 {
	if sel == nil {
		return nil
	}
	return sel[i:]
}

func rest(sel []uint32, first uint32, i int) uint32 {
	if sel == nil {
		return first + uint32(i)
	}
	return first
}

// link inserts a row at the front of its key's chain.
func (t *table) link(ctx context.Context, e *entry, position uint32) error {
	old := e.head
	e.head = position + 1
	return t.follows(ctx, position, old)
}

// follows makes the chain continue from a row to its former head.
func (t *table) follows(ctx context.Context, position, head uint32) error {
	if !t.chains.Load() {
		if err := t.needChain(ctx); err != nil {
			return err
		}
	}
	t.chain[position-t.first] = head
	return nil
}

// needChain allocates the chain when a key first occurs twice. Its zeros end the
// chains of all rows inserted before.
func (t *table) needChain(ctx context.Context) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.chains.Load() {
		return nil
	}
	if len(t.chain) < t.span {
		free(t.dev, t.chain)
		t.chain = nil
		c, err := alloc[uint32](t.dev, t.span)
		if err != nil {
			return err
		}
		t.chain = c
	}
	if err := zero(ctx, t.chain[:t.span]); err != nil {
		return err
	}
	t.chains.Store(true)
	return nil
}

// grow doubles the entries.
func (t *table) grow(ctx context.Context) error {
	old, memory := t.entries, t.memory
	m, err := alloc[uint64](t.dev, 4*len(old))
	if err != nil {
		return err
	}
	defer free(t.dev, memory)
	used := t.used
	t.use(m, 2*len(old))
	t.used = used
	if err := zero(ctx, t.entries); err != nil {
		return err
	}
	return inSteps(ctx, len(old), func(from, to int) { t.reinsert(old[from:to]) })
}

// reinsert adds the entries of a smaller table.
func (t *table) reinsert(old []entry) {
	mask := uint64(len(t.entries) - 1)
	for _, e := range old {
		if e.head == 0 {
			continue
		}
		at := mix(e.key^t.dev.seed) << t.skip >> t.shift & mask
		for t.entries[at&mask].head != 0 {
			at++
		}
		t.entries[at&mask] = e
	}
}

func (t *table) Release() {
	free(t.dev, t.memory)
	free(t.dev, t.chain)
	free(t.dev, t.dense)
	if t.member != nil {
		free(t.dev, t.member.bits)
		t.member = nil
	}
	t.memory, t.entries, t.numbers, t.chain, t.dense = nil, nil, nil, nil, nil
}

// growFrom bounds a table's initial size in rows. A larger build side may have few
// distinct keys; if not, the table grows.
const growFrom = 1 << 14

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
