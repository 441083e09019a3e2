package cpu

import "bytes"

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
