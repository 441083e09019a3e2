package rowid

// blockNeeds is what a block of the kernels that group rows needs shared memory for.
type blockNeeds struct {
	// Of the kernel: threads of a block at most, bytes of what a block knows, rows of
	// a warp's tile, bytes of a slot of a warp.
	threads, header, tile, slotBytes int64
	program                          int64 // bytes of the program and its columns
	slots                            int64 // of a row: of the program, and of keys of several words
	filter                           bool
	noKeys                           bool
	words                            int64 // of 8 bytes, of a key
	cellWords, cellWides             int64 // of 4 and of 8 bytes that the cells of a group have
}

// block is how a block uses its shared memory (kernels/layout/groups.h). Offsets and
// sizes are bytes.
type block struct {
	threads              int64
	staged               bool
	passed, slots, table int64 // offsets
	capacity, probes     int64 // slots of the table, and how many are tried for a group
	groups, copies       int64 // that have cells, and copies of each cell
	shared               int64
}

const (
	// mostStaged bounds the bytes of a program that is copied to shared memory.
	mostStaged = 8 << 10
	// A block's table has up to wantedSlots slots for each group, so that most groups
	// are found at the first attempt.
	wantedSlots = 4
	// localProbes slots are tried for a group. If a table cannot hold all groups, it
	// holds those that come first and is half empty; fewProbes slots are tried, so that
	// rows of the other groups lose little time.
	localProbes, fewProbes = 16, 4
	// mostCopied bounds the copies of all cells.
	mostCopied = 1 << 13
	// groupsWithoutKey have cells in every table, mostNumbered bounds those that have.
	groupsWithoutKey, mostNumbered = 2, 1<<16 - 1
)

// planBlock divides the shared memory of a block: its table takes what is left. groups
// is how many groups are known, rows how many rows a block has. ok is false if the
// memory is too small for the slots of one warp.
func planBlock(n *blockNeeds, shared, groups, rows int64) (b block, ok bool) {
	at := n.header
	if n.program <= mostStaged {
		b.staged = true
		at += n.program
	}
	warp := n.slots * n.slotBytes
	if n.filter {
		warp += 2 * 4 * n.tile
	}
	warps := n.threads / 32
	for warps > 1 && at+warps*warp > shared/2 {
		warps--
	}
	b.threads, b.passed = 32*warps, at
	if n.filter {
		at += warps * 2 * 4 * n.tile
	}
	b.slots = at
	b.table = (at + warps*n.slots*n.slotBytes + 7) / 8 * 8
	b.shared, b.copies = b.table, 1
	if b.shared > shared {
		return b, false
	}
	n.planTable(&b, shared-b.table, groups, rows)
	if b.groups > 0 {
		for b.copies < 32 && 2*b.groups*b.copies <= mostCopied && b.table+n.tableBytes(b.capacity, b.groups, 2*b.copies) <= shared {
			b.copies *= 2
		}
		b.shared += n.tableBytes(b.capacity, b.groups, b.copies)
	}
	return b, true
}

// planTable chooses the slots of a block's table and the groups that have cells.
func (n *blockNeeds) planTable(b *block, space, groups, rows int64) {
	wanted := min(groups+groups/4+16, mostNumbered-groupsWithoutKey)
	if n.noKeys {
		if n.tableBytes(1, groupsWithoutKey, 1) <= space {
			b.capacity, b.probes, b.groups = 1, 1, groupsWithoutKey
		}
		return
	}
	b.probes = localProbes
	if n.chooseTable(b, space, wanted); b.groups-groupsWithoutKey < groups {
		b.probes, b.capacity, b.groups = fewProbes, 0, 0
		n.chooseTable(b, space, min(wanted, max(rows, 16)))
	}
}

// chooseTable chooses the table with cells for the most groups, and of these the one
// with the most slots.
func (n *blockNeeds) chooseTable(b *block, space, wanted int64) {
	for capacity := int64(16); capacity <= nextPower(wantedSlots*wanted); capacity *= 2 {
		if cells := min(n.cellsIn(space, capacity), wanted, capacity/2); cells > 0 && cells+groupsWithoutKey >= b.groups {
			b.capacity, b.groups = capacity, cells+groupsWithoutKey
		}
	}
}

// tableBytes returns the size of a table.
func (n *blockNeeds) tableBytes(capacity, groups, copies int64) int64 {
	slot, cells := n.slotAndCells()
	return capacity*slot + groups*(4+copies*cells)
}

// slotAndCells returns the bytes of a slot and those of the cells of a group.
func (n *blockNeeds) slotAndCells() (slot, cells int64) {
	slot = 8*n.words + 2
	if n.words > 1 {
		slot += 4
	}
	return slot, 8*n.cellWides + 4*n.cellWords
}

// cellsIn returns for how many groups with keys a table of the given slots has cells.
func (n *blockNeeds) cellsIn(space, capacity int64) int64 {
	slot, cells := n.slotAndCells()
	return (space-capacity*slot)/(4+cells) - groupsWithoutKey
}
