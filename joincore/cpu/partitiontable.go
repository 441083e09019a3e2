package cpu

import (
	"context"
	"math/bits"

	"gpujoin/joincore/device"
)

// The table of a partition holds no keys. Its entries are row numbers, and a search
// compares with the row's key, which is adjacent to the partition's other keys. With 4
// bytes an entry, the table leaves most of a core's own cache to the rows.

// smallNumbers is the number of entries up to which the table of a partition is twice as
// large as needed.
const smallNumbers = 1 << 15

// BuildPartition reuses one table per stream.
func (st *stream) BuildPartition(ctx context.Context, p device.Partitions, partition int, m *device.Match) (device.Table, error) {
	s := asSpace(p)
	if err := s.needMarks(m); err != nil {
		return nil, err
	}
	if st.table == nil {
		st.table = &table{dev: st.dev}
	}
	first, end := s.bounds[partition], s.bounds[partition+1]
	t := st.table
	t.space, t.first, t.span = s, uint32(first), int(end-first)
	t.skip = uint(bits.Len(uint(len(s.bounds) - 3)))
	t.rows = s.keys.v64[0][first:end]
	t.chains.Store(false)
	mean := s.rows[0] / (len(s.bounds) - 1)
	if err := t.resetNumbers(ctx, entriesFor(min(t.span, max(growFrom, 2*mean)), smallNumbers)); err != nil {
		return nil, err
	}
	for from := 0; from < t.span; from += stepRows {
		if err := st.yield(ctx); err != nil {
			return nil, err
		}
		if err := st.insertRange(ctx, t, from, min(from+stepRows, t.span)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// resetNumbers empties the table of a partition and gives it a number of entries, a
// power of 2.
func (t *table) resetNumbers(ctx context.Context, size int) error {
	if size > 2*len(t.memory) {
		free(t.dev, t.memory)
		t.memory, t.numbers = nil, nil
		m, err := alloc[uint64](t.dev, size/2)
		if err != nil {
			return err
		}
		t.memory = m
	}
	return t.useNumbers(ctx, size)
}

// useNumbers takes size entries of memory.
func (t *table) useNumbers(ctx context.Context, size int) error {
	t.numbers = view[uint32](t.memory)[:size]
	t.shift = 64 - uint(bits.TrailingZeros(uint(size)))
	t.wrap = uint64(size - 1)
	t.used = 0
	return zero(ctx, t.numbers)
}

// numbersLimit returns the number of distinct keys from which the table grows.
func (t *table) numbersLimit() int { return len(t.numbers) / 8 * maxFill }

// insertRange inserts the rows [from, to) of a partition, a chunk at a time.
func (st *stream) insertRange(ctx context.Context, t *table, from, to int) error {
	for from < to {
		next := min(from+st.dev.chunk, to)
		var err error
		if t.used+next-from > t.numbersLimit() {
			err = t.insertRows(ctx, from, next)
		} else {
			err = st.insertChunk(ctx, t, from, next)
		}
		if err != nil {
			return err
		}
		from = next
	}
	return nil
}

// insertChunk inserts rows for which the table has room, even if no key repeats. Like a
// lookup, it works in rounds without data-dependent branches.
func (st *stream) insertChunk(ctx context.Context, t *table, from, to int) error {
	keys := t.rows[from:to]
	slot, todo, same := st.slot[:len(keys)], st.todo[:len(keys)], st.sel[:len(keys)]
	t.homes(slot, keys)
	left, repeats := t.claim(slot, todo, from), 0
	for left > 0 {
		left, repeats = t.claimNext(slot, todo[:left], same, repeats, from)
	}
	t.used += len(keys) - repeats
	for _, i := range same[:repeats] {
		if err := t.linkRow(ctx, slot[i], from+int(i)); err != nil {
			return err
		}
	}
	return nil
}

// claim gives each row from.. the entry at slot if that is empty, and writes the others
// to todo. It returns how many they are.
func (t *table) claim(slot, todo []uint32, from int) (left int) {
	numbers := t.numbers
	todo = todo[:len(slot)]
	for i, at := range slot {
		e := &numbers[at]
		taken := nonzero(uint64(*e))
		*e |= uint32(from+i+1) & uint32(taken-1)
		todo[left] = uint32(i)
		left += int(taken)
	}
	return left
}

// claimNext compares each row of todo with the entry at its slot. If that has the row's
// key, it adds the row to same; if it has another one, the row goes on to the next entry
// and stays in todo; if it is empty, the row takes it.
func (t *table) claimNext(slot, todo, same []uint32, repeats, from int) (left, allRepeats int) {
	numbers, rows, wrap := t.numbers, t.rows, uint32(t.wrap)
	keys := rows[from:]
	for _, i := range todo {
		at := slot[i]
		e := &numbers[at]
		taken := nonzero(uint64(*e))
		other := taken & nonzero(rows[uint64(*e)-taken]^keys[i])
		*e |= (uint32(from) + i + 1) & uint32(taken-1)
		slot[i] = (at + uint32(other)) & wrap
		todo[left] = i
		left += int(other)
		same[repeats] = i
		repeats += int(taken &^ other)
	}
	return left, repeats
}

// insertRows inserts the rows [from, to) one by one. The table grows when it is full.
func (t *table) insertRows(ctx context.Context, from, to int) error {
	for row := from; row < to; row++ {
		if t.used >= t.numbersLimit() {
			if err := t.growNumbers(ctx); err != nil {
				return err
			}
		}
		key := t.rows[row]
		at := t.home(key)
		for t.numbers[at] != 0 && t.rows[t.numbers[at]-1] != key {
			at = (at + 1) & uint32(t.wrap)
		}
		if t.numbers[at] == 0 {
			t.numbers[at] = uint32(row) + 1
			t.used++
		} else if err := t.linkRow(ctx, at, row); err != nil {
			return err
		}
	}
	return nil
}

// linkRow inserts a row at the front of the chain of its key, which has an entry.
func (t *table) linkRow(ctx context.Context, at uint32, row int) error {
	old := t.numbers[at]
	t.numbers[at] = uint32(row) + 1
	return t.follows(ctx, t.first+uint32(row), t.first+old)
}

// home returns the number of the entry at which the search for a key begins.
func (t *table) home(key uint64) uint32 {
	return uint32(mix(key^t.dev.seed) << (t.skip & 63) >> (t.shift & 63))
}

// growNumbers doubles the entries.
func (t *table) growNumbers(ctx context.Context) error {
	old, memory, used := t.numbers, t.memory, t.used
	m, err := alloc[uint64](t.dev, len(old))
	if err != nil {
		return err
	}
	defer free(t.dev, memory)
	t.memory = m
	if err := t.useNumbers(ctx, 2*len(old)); err != nil {
		return err
	}
	t.used = used
	return inSteps(ctx, len(old), func(from, to int) {
		for _, number := range old[from:to] {
			if number == 0 {
				continue
			}
			at := t.home(t.rows[number-1])
			for t.numbers[at] != 0 {
				at = (at + 1) & uint32(t.wrap)
			}
			t.numbers[at] = number
		}
	})
}

// lookupRows finds the chain of each key in the table of a partition, in rounds as
// lookup does.
func (t *table) lookupRows(keys []uint64, head, todo, slot []uint32) {
	if len(t.rows) == 0 {
		clear(head)
		return
	}
	t.homes(slot, keys)
	numbers, rows, first := t.numbers, t.rows, t.first
	head, slot, todo = head[:len(keys)], slot[:len(keys)], todo[:len(keys)]
	left := 0
	for i, key := range keys {
		number := numbers[slot[i]]
		taken := nonzero(uint64(number))
		other := nonzero(rows[uint64(number)-taken] ^ key)
		head[i] = (first + number) & -uint32(taken&^other)
		todo[left] = uint32(i)
		left += int(taken & other)
	}
	wrap := uint32(t.wrap)
	for left > 0 {
		n := left
		left = 0
		for _, i := range todo[:n] {
			at := (slot[i] + 1) & wrap
			slot[i] = at
			number := numbers[at]
			taken := nonzero(uint64(number))
			other := nonzero(rows[uint64(number)-taken] ^ keys[i])
			head[i] = (first + number) & -uint32(taken&^other)
			todo[left] = i
			left += int(taken & other)
		}
	}
}
