package rowid

import "testing"

// However many groups there are and whatever their cells, a block's arrays lie one after
// the other within its shared memory, and no memory is left that a table could use.
func TestBlocksUseTheirMemory(t *testing.T) {
	const shared = 227 << 10
	for _, slots := range []int64{0, 1, 2, 7, 32} {
		for _, words := range []int64{1, 2, 8} {
			for _, cells := range [][2]int64{{1, 0}, {4, 0}, {0, 1}, {32, 8}, {320, 0}} {
				for _, groups := range []int64{0, 1, 4, 100, 1 << 10, 1 << 12, 1 << 14, 1 << 20, 1 << 30} {
					for _, filter := range []bool{false, true} {
						n := &blockNeeds{
							threads: 512, header: 512, tile: 256, slotBytes: 32 * 65, program: 1000, slots: slots, filter: filter,
							words: words, cellWords: cells[0], cellWides: cells[1],
						}
						b, ok := planBlock(n, shared, groups, 1<<20)
						if !ok {
							t.Fatalf("%+v: no block", n)
						}
						end := b.slots + b.threads/32*slots*n.slotBytes
						if b.passed < n.header+n.program || b.slots < b.passed || filter && b.slots < b.passed+b.threads/32*2*4*n.tile ||
							b.table < end || b.table%8 != 0 || b.shared != b.table+n.tableBytes(b.capacity, b.groups, b.copies) || b.shared > shared {
							t.Errorf("%+v: %+v", n, b)
						}
						if b.threads < 32 || b.threads%32 != 0 || b.copies&(b.copies-1) != 0 || b.copies > 32 || b.capacity&(b.capacity-1) != 0 {
							t.Errorf("%+v: %+v", n, b)
						}
						if b.groups < 18 || 2*(b.groups-groupsWithoutKey) > b.capacity || b.groups > mostNumbered {
							t.Errorf("%d groups, %+v: %+v", groups, n, b)
						}
						if all := b.groups >= groups+groupsWithoutKey; all != (b.probes == localProbes) {
							t.Errorf("%d groups, %+v: %+v", groups, n, b)
						}
						if groups <= 100 && cells[0] < 100 && b.capacity < 2*groups {
							t.Errorf("%d groups, %+v: %+v", groups, n, b)
						}
					}
				}
			}
		}
	}
}

// All rows of an aggregate without keys are of one group; memory that is too small for
// a warp is refused.
func TestBlocksOfOneGroup(t *testing.T) {
	n := &blockNeeds{threads: 512, header: 512, tile: 256, slotBytes: 2080, noKeys: true, words: 1, cellWords: 4}
	if b, ok := planBlock(n, 227<<10, 1, 1<<20); !ok || b.groups != 2 || b.copies != 32 || b.threads != 512 {
		t.Errorf("%+v, %v", b, ok)
	}
	n.slots = 40
	if _, ok := planBlock(n, 64<<10, 1, 1<<20); ok {
		t.Error("slots that do not fit")
	}
}

// Records of a table in device memory do not straddle sectors of 32 bytes where padding
// is cheap.
func TestRecords(t *testing.T) {
	for cells, want := range map[int]record{
		1: {stride: 2, key: 0, cells: 1}, 2: {stride: 4, key: 0, cells: 1}, 3: {stride: 4, key: 0, cells: 1}, 4: {stride: 5, key: 0, cells: 1},
	} {
		if got := recordOf(1, cells); got != want {
			t.Errorf("%d cells: %+v", cells, got)
		}
	}
	if got, want := recordOf(2, 4), (record{stride: 8, key: 1, cells: 3}); got != want {
		t.Errorf("two words: %+v", got)
	}
}
