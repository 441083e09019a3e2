package cpu

import (
	"bytes"
	"math"
	"math/bits"

	"gpujoin/joincore"
)

// groupTable holds groups: their keys, found by a hash table with linear
// probing, and the state of each function. Groups are numbered from 1. Number 0
// takes the rows that are not for this table, or have no value; its state means
// nothing.
type groupTable struct {
	plan    *groupPlan
	n       int // groups
	size    int // groups that memory is there for, number 0 included
	limit   int // rows of further groups are not taken
	shift   uint
	memory  []byte
	entries []groupEntry
	block
	heap []byte // of keys and of values that are bytes
	used int
}

// groupEntry is one group: its key where that is exact, else a hash of it.
type groupEntry struct {
	key   uint64
	group uint32 // 0: empty
	tag   uint32
}

// firstGroups is for how many groups a table has memory at first.
const firstGroups = rowUnit

// start makes the table an empty one.
func (t *groupTable) start(limit int) error {
	t.limit, t.used = limit, 0
	if t.size == 0 {
		if err := t.resize(firstGroups); err != nil {
			return err
		}
	} else {
		t.initialise(0, t.n+1)
		clear(t.entries)
	}
	t.n = 0
	if len(t.plan.keys) == 0 {
		t.n = 1
	}
	return nil
}

func (t *groupTable) release() {
	m := t.plan.memory
	t.block.release(m)
	m.Free(t.memory)
	m.Free(t.heap)
	*t = groupTable{plan: t.plan}
}

// resize makes memory for size groups.
func (t *groupTable) resize(size int) error {
	memory := t.plan.memory
	b, err := t.plan.groups.newBlock(memory, size)
	if err != nil {
		return err
	}
	old, last := t.block, min(t.n+1, t.size)
	for i, c := range old.c64 {
		copy(b.c64[i], c[:last])
	}
	for i, c := range old.c32 {
		copy(b.c32[i], c[:last])
	}
	old.release(memory)
	t.block, t.size = b, size
	t.initialise(last, size)
	if len(t.plan.keys) == 0 {
		return nil
	}
	m, err := memory.Alloc(int64(2 * size * entryBytes))
	if err != nil {
		return err
	}
	memory.Free(t.memory)
	t.memory = m
	clear(m)
	t.entries = view[groupEntry](m)
	t.shift = 64 - uint(bits.TrailingZeros(uint(len(t.entries))))
	mask := uint64(len(t.entries) - 1)
	for g := 1; g < last; g++ {
		e := t.entryOf(g)
		at := slotOf(t.hashOf(g), t.shift)
		for t.entries[at&mask].group != 0 {
			at++
		}
		t.entries[at&mask] = e
	}
	return nil
}

// entryOf makes the entry of a group anew.
func (t *groupTable) entryOf(g int) groupEntry {
	e := groupEntry{group: uint32(g)}
	if t.plan.exact {
		e.key, e.tag = t.c64[0][g], t.c32[0][g]
	} else {
		e.key = t.hashOf(g)
	}
	return e
}

// hashOf computes the hash of a group's key, as grouper.hash does.
func (t *groupTable) hashOf(g int) uint64 {
	d := t.plan.dev
	if t.plan.exact {
		return mix(t.c64[0][g]^d.seed) + uint64(t.c32[0][g])*goldenRatio
	}
	h := d.seed
	for _, words := range t.c64[:t.plan.words] {
		h = joincore.HashWord(h, words[g])
	}
	if d.collide {
		h &= 1
	}
	return h
}

// initialise sets the state of groups [from, to).
func (t *groupTable) initialise(from, to int) {
	p := t.plan
	for _, c := range t.c64[p.rows:] {
		clear(c[from:to])
	}
	for i := range p.functions {
		f := &p.functions[i]
		first, ok := f.initial()
		if !ok {
			continue
		}
		for j, x := range first {
			c := t.c64[f.state+j][from:to]
			for g := range c {
				c[g] = x
			}
		}
	}
}

// initial returns the words of a state that are not 0 at first.
func (f *function) initial() (words []uint64, ok bool) {
	least := f.kind == joincore.Min || f.kind == joincore.BoolAnd
	most := f.kind == joincore.Max || f.kind == joincore.BoolOr
	low, high := uint64(math.MaxUint64), uint64(math.MaxInt64)
	switch {
	case f.bytes || !least && !most:
		return nil, false
	case most:
		low, high = ^low, ^high
	}
	if f.wide {
		return []uint64{low, high}, true
	}
	return []uint64{high}, true
}

// span returns the bytes of a part of a group's key.
func (t *groupTable) span(g, s int) []byte {
	at := t.c64[t.plan.offsets+s][g]
	return t.heap[at:][:t.c32[t.plan.lengths+s][g]]
}

// enter stores the key of a new group.
func (t *groupTable) enter(g int, k *keyChunk, i int, tag uint32) error {
	for w, words := range k.words {
		t.c64[w][g] = words[i]
	}
	if t.plan.exact {
		t.c32[0][g] = tag
	}
	for s, spans := range k.spans {
		at, err := t.store(spans[i], len(spans[i]))
		if err != nil {
			return err
		}
		t.c64[t.plan.offsets+s][g] = uint64(at)
		t.c32[t.plan.lengths+s][g] = uint32(len(spans[i]))
	}
	carry := t.plan.lengths + t.plan.spans
	for c, ids := range k.carry {
		t.c32[carry+c][g] = ids[i]
	}
	return nil
}

// store copies bytes to the heap, with space for size of them, and returns
// where they are.
func (t *groupTable) store(b []byte, size int) (int, error) {
	if len(t.heap)-t.used < size {
		heap, err := t.plan.memory.Alloc(int64(max(2*len(t.heap), 2*size, 4096)))
		if err != nil {
			return 0, err
		}
		copy(heap, t.heap[:t.used])
		t.plan.memory.Free(t.heap)
		t.heap = heap
	}
	at := t.used
	copy(t.heap[at:], b)
	t.used += size
	return at, nil
}

// slotOf returns the entry at which the search for a group begins, in a table of
// 1<<(64-shift) entries. A table of groups grows with them, and it may meet them in the
// order of the highest bits of their hash: as a partitioned join or another aggregation
// returns them. The slot must not depend on those bits alone, else all groups so far share
// a part of the table. Multiples of the golden ratio spread any range of hashes evenly.
func slotOf(hash uint64, shift uint) uint64 { return hash * goldenRatio >> (shift & 63) }

// goldenRatio is the fraction of the golden ratio, times 1<<64.
const goldenRatio = 0x9e3779b97f4a7c15

// layout is how a block of memory is divided into columns of the same number of
// rows, a multiple of rowUnit.
type layout struct{ n64, n32, n8 int }

// rowUnit is a multiple of the rows that a block has, so that each column is
// aligned.
const rowUnit = 64

func (l layout) bytes(rows int) int { return rows * (8*l.n64 + 4*l.n32 + l.n8) }

// block is memory in columns.
type block struct {
	memory []byte
	c64    [][]uint64
	c32    [][]uint32
	c8     [][]uint8
}

// newBlock allocates a block of unspecified content.
func (l layout) newBlock(m *joincore.Account, rows int) (block, error) {
	memory, err := m.Alloc(int64(l.bytes(rows)))
	if err != nil {
		return block{}, err
	}
	b := block{memory: memory}
	for range l.n64 {
		b.c64, memory = append(b.c64, view[uint64](memory[:8*rows])), memory[8*rows:]
	}
	for range l.n32 {
		b.c32, memory = append(b.c32, view[uint32](memory[:4*rows])), memory[4*rows:]
	}
	for range l.n8 {
		b.c8, memory = append(b.c8, memory[:rows:rows]), memory[rows:]
	}
	return b, nil
}

func (b *block) release(m *joincore.Account) {
	m.Free(b.memory)
	*b = block{}
}

// find sets group to the group of each key, and makes those that are not there
// while the table has less than limit. It returns how many rows have none.
//
// Keys that are there are found first, all together. The others are then looked up
// one after the other, because one may be the same as another.
func (t *groupTable) find(k *keyChunk, group []uint32, limit int) (missed int, err error) {
	absent := t.lookup(k, group)
	if t.n >= limit && t.plan.exact {
		return len(absent), nil
	}
	for len(absent) > 0 {
		done, m, err := t.insert(k, group, absent, limit)
		missed += m
		if err != nil {
			return missed, err
		}
		if absent = absent[done:]; len(absent) > 0 {
			if err := t.resize(2 * t.size); err != nil {
				return missed, err
			}
		}
	}
	return missed, nil
}

// lookup sets group to the group of each key, or to 0, and returns the rows whose
// group it has not found. It works in rounds without data-dependent branches: each
// reads one entry for every undecided key, so that many cache misses overlap.
func (t *groupTable) lookup(k *keyChunk, group []uint32) (absent []uint32) {
	entries, shift := t.entries, t.shift
	hash := k.hash[:k.n]
	keys, tags := t.identities(k)
	keys, group = keys[:len(hash)], group[:len(hash)]
	todo, slot, absent := k.todo[:len(hash)], k.slot[:len(hash)], k.absent[:len(hash)]
	left, missing := 0, 0
	for i, h := range hash {
		at := slotOf(h, shift)
		tag := uint32(0)
		if tags != nil {
			tag = tags[i]
		}
		found, none, more := entries[at].test(keys[i], tag)
		group[i] = found
		todo[left], slot[left] = uint32(i), uint32(at)
		left += more
		absent[missing] = uint32(i)
		missing += none
	}
	mask := uint32(len(entries) - 1)
	for left > 0 {
		n := left
		left = 0
		for j, i := range todo[:n] {
			at := (slot[j] + 1) & mask
			tag := uint32(0)
			if tags != nil {
				tag = tags[i]
			}
			found, none, more := entries[at].test(keys[i], tag)
			group[i] = found
			todo[left], slot[left] = i, at
			left += more
			absent[missing] = i
			missing += none
		}
	}
	absent = absent[:missing]
	if !t.plan.exact {
		absent = t.verify(k, group, absent)
	}
	return absent
}

// test returns the group of an entry that has the key, else 0; 1 if the entry is empty,
// else 0; and 1 if the search goes on behind the entry, because it is another key's,
// else 0. It computes them without a branch.
func (e *groupEntry) test(key uint64, tag uint32) (group uint32, empty, more int) {
	other := nonzero(e.key ^ key | uint64(e.tag^tag))
	full := nonzero(uint64(e.group))
	return e.group &^ -uint32(other), int(full ^ 1), int(full & other)
}

// identities returns what entries have of the keys of rows: the keys, or hashes of
// them.
func (t *groupTable) identities(k *keyChunk) (keys []uint64, tags []uint32) {
	if t.plan.exact {
		return k.words[0], k.tags
	}
	return k.hash, nil
}

// verify makes those rows absent whose keys have only the hash of their group's.
func (t *groupTable) verify(k *keyChunk, group, absent []uint32) []uint32 {
	for i, g := range group {
		if g != 0 && !t.same(g, k, i) {
			group[i] = 0
			absent = append(absent, uint32(i))
		}
	}
	return absent
}

// insert finds the groups of some rows, or makes them. It returns how many rows it
// has done: at the next one, the table needs more memory.
func (t *groupTable) insert(k *keyChunk, group, rows []uint32, limit int) (done, missed int, err error) {
	entries, mask := t.entries, uint64(len(t.entries)-1)
	shift, exact := t.shift, t.plan.exact
	keys, tags := t.identities(k)
	tag := uint32(0)
	for j, i := range rows {
		key := keys[i]
		if tags != nil {
			tag = tags[i]
		}
		at := slotOf(k.hash[i], shift)
		for {
			e := &entries[at&mask]
			if e.key == key && e.tag == tag && e.group != 0 && (exact || t.same(e.group, k, int(i))) {
				group[i] = e.group
				break
			}
			if e.group == 0 {
				if t.n >= limit {
					group[i] = 0
					missed++
					break
				}
				if t.n+1 >= t.size {
					return j, missed, nil
				}
				t.n++
				*e = groupEntry{key: key, group: uint32(t.n), tag: tag}
				if err := t.enter(t.n, k, int(i), tag); err != nil {
					return j, missed, err
				}
				group[i] = uint32(t.n)
				break
			}
			at++
		}
	}
	return len(rows), missed, nil
}

// same compares the key of a group with that of a row.
func (t *groupTable) same(g uint32, k *keyChunk, i int) bool {
	for w, words := range k.words {
		if t.c64[w][g] != words[i] {
			return false
		}
	}
	for s, spans := range k.spans {
		length := int(t.c32[t.plan.lengths+s][g])
		if length != len(spans[i]) {
			return false
		}
		if length > 8 && !bytes.Equal(t.span(int(g), s), spans[i]) {
			return false
		}
	}
	return true
}
