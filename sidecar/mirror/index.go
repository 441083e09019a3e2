package mirror

import "hash/maphash"

// index finds rows by the hashes of their keys. It is extensible: the first bits of a hash
// choose one of many small tables, and only the one that is full grows or is divided, so no
// change waits for longer than some milliseconds. A table is open addressing with linear
// probing: 4 bytes for the row's number, and 1 byte of the hash, so that a search passes other
// rows within a line of the cache and looks at the keys of hardly any of them. At 44 to 88 %
// load that is 6 to 11 bytes a row.
type index struct {
	*account
	seed  maphash.Seed
	depth uint     // bits that choose
	dir   []*chunk // 1 << depth
}

// chunk is one of the small tables.
type chunk struct {
	depth uint // bits of the hash that all its rows share
	slots []uint32
	tags  []uint8 // of the slots: empty, gone, or bits of the hash
	used  int     // slots with a row
	dead  int     // slots whose row was removed, and at which a search must not end
}

// noRow is the number of no row.
const noRow = ^uint32(0)

const (
	empty    = 0
	gone     = 1
	leastDir = 16      // slots of the first chunk
	mostDir  = 1 << 14 // slots of a chunk that is divided
	mostBits = 22      // of the directory; chunks of hashes that agree in more only grow
)

func newIndex(a *account) *index {
	x := &index{account: a, seed: maphash.MakeSeed()}
	x.dir = []*chunk{x.newChunk(0, leastDir)}
	return x
}

func (x *index) newChunk(depth uint, slots int) *chunk {
	c := &chunk{depth: depth, slots: make([]uint32, slots), tags: make([]uint8, slots)}
	x.besides.Add(int64(slots) * slotBytes)
	return c
}

// slotBytes are the bytes of a slot, entryBytes those of the directory for a chunk.
const (
	slotBytes  = 5
	entryBytes = 8
)

// release gives the memory back to the account.
func (x *index) release() {
	var last *chunk
	for _, c := range x.dir {
		if c != last { // equal ones are neighbours
			x.besides.Add(-int64(len(c.slots)) * slotBytes)
		}
		last = c
	}
	x.besides.Add(-int64(len(x.dir)-1) * entryBytes)
	x.dir = nil
}

func (x *index) chunk(hash uint64) *chunk { return x.dir[hash>>1>>(63-x.depth)] }

func tag(hash uint64) uint8 { return max(uint8(hash>>24), gone+1) }

// find returns the slot of the row for which same is true among those with the hash; nil: there
// is none.
func (x *index) find(hash uint64, same func(row uint32) bool) *uint32 {
	c := x.chunk(hash)
	mask, want := len(c.slots)-1, tag(hash)
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		switch c.tags[i] {
		case empty:
			return nil
		case want:
			if same(c.slots[i]) {
				return &c.slots[i]
			}
		}
	}
}

// insert adds a row that is not there. hashOf returns the hash of any row that is.
func (x *index) insert(hash uint64, row uint32, hashOf func(uint32) uint64) error {
	c := x.chunk(hash)
	for 8*(c.used+c.dead+1) > 7*len(c.slots) {
		if err := x.grow(c, hash, hashOf); err != nil {
			return err
		}
		c = x.chunk(hash)
	}
	c.put(hash, row)
	return nil
}

func (c *chunk) put(hash uint64, row uint32) {
	mask := len(c.slots) - 1
	i := int(hash) & mask
	for c.tags[i] > gone {
		i = (i + 1) & mask
	}
	if c.tags[i] == gone {
		c.dead--
	}
	c.slots[i], c.tags[i] = row, tag(hash)
	c.used++
}

// remove takes the row of a slot out.
func (x *index) remove(hash uint64, row uint32) bool {
	c := x.chunk(hash)
	i, mask := c.slotOf(hash, row), len(c.slots)-1
	if i < 0 {
		return false
	}
	c.used--
	if c.tags[(i+1)&mask] == empty {
		c.tags[i] = empty // no search goes on from here
	} else {
		c.tags[i] = gone
		c.dead++
	}
	return true
}

// replace changes a row's number.
func (x *index) replace(hash uint64, row, by uint32) bool {
	c := x.chunk(hash)
	i := c.slotOf(hash, row)
	if i >= 0 {
		c.slots[i] = by
	}
	return i >= 0
}

// slotOf returns the slot of a row, or -1.
func (c *chunk) slotOf(hash uint64, row uint32) int {
	mask, want := len(c.slots)-1, tag(hash)
	for i := int(hash) & mask; c.tags[i] != empty; i = (i + 1) & mask {
		if c.tags[i] == want && c.slots[i] == row {
			return i
		}
	}
	return -1
}

// grow makes room in a chunk: without its removed rows, in twice as many slots, or in two.
func (x *index) grow(c *chunk, hash uint64, hashOf func(uint32) uint64) error {
	switch slots := len(c.slots); {
	case 2*c.used < slots:
		x.spread(c, hash, hashOf, x.newChunk(c.depth, slots))
		return nil
	case slots < mostDir || c.depth == mostBits:
		if err := x.room(int64(slots) * slotBytes); err != nil {
			return err
		}
		x.spread(c, hash, hashOf, x.newChunk(c.depth, 2*slots))
		return nil
	}
	if err := x.room(int64(len(c.slots))*slotBytes + int64(len(x.dir))*entryBytes); err != nil {
		return err
	}
	if c.depth == x.depth {
		twice := make([]*chunk, 2*len(x.dir))
		for i, d := range x.dir {
			twice[2*i], twice[2*i+1] = d, d
		}
		x.besides.Add(int64(len(x.dir)) * entryBytes)
		x.dir = twice
		x.depth++
	}
	x.spread(c, hash, hashOf, x.newChunk(c.depth+1, len(c.slots)), x.newChunk(c.depth+1, len(c.slots)))
	return nil
}

// spread moves the rows of a chunk to one or two others, which take its place.
func (x *index) spread(c *chunk, hash uint64, hashOf func(uint32) uint64, to ...*chunk) {
	for i, row := range c.slots {
		if c.tags[i] <= gone {
			continue
		}
		h := hashOf(row)
		to[int(h>>1>>(62-c.depth)&1)&(len(to)-1)].put(h, row)
	}
	n := 1 << (x.depth - c.depth) // entries of the directory that are c
	from := int(hash>>1>>(63-x.depth)) &^ (n - 1)
	for i := range n {
		x.dir[from+i] = to[i*len(to)/n]
	}
	x.besides.Add(-int64(len(c.slots)) * slotBytes)
}
