package driver

import (
	"cmp"
	"slices"
)

// Gap is bytes [At, At+Bytes) of an address range.
type Gap struct{ At, Bytes int64 }

// FreeList is the free parts of an address range: by address, no two of them adjacent.
type FreeList []Gap

// Take takes memory from the first part that is large enough.
func (l *FreeList) Take(bytes int64) (at int64, ok bool) {
	i := slices.IndexFunc(*l, func(g Gap) bool { return g.Bytes >= bytes })
	if i < 0 {
		return 0, false
	}
	g := &(*l)[i]
	at = g.At
	g.At, g.Bytes = g.At+bytes, g.Bytes-bytes
	if g.Bytes == 0 {
		*l = slices.Delete(*l, i, i+1)
	}
	return at, true
}

// Give puts memory back.
func (l *FreeList) Give(at, bytes int64) {
	i, _ := slices.BinarySearchFunc(*l, at, func(g Gap, at int64) int { return cmp.Compare(g.At, at) })
	list := slices.Insert(*l, i, Gap{at, bytes})
	for _, left := range []int{i, i - 1} { // joins what is adjacent, the right neighbour first
		if left >= 0 && left+1 < len(list) && list[left].At+list[left].Bytes == list[left+1].At {
			list[left].Bytes += list[left+1].Bytes
			list = slices.Delete(list, left+1, left+2)
		}
	}
	*l = list
}
