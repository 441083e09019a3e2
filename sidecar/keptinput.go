package sidecar

import (
	"fmt"
	"slices"
	"sort"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/kept"
)

// keptLeaf is a table whose rows an input has: the input's own, or one of several. It is kept
// by itself.
type keptLeaf struct {
	relation uint32
	blocks   uint32
	rows     uint64      // expected; 0: unknown
	first    int         // its first group in the input
	groups   int         // those that it has there
	lease    *kept.Lease // nil: nothing of it is kept
}

// keptInput is an input in the mode KEPT, or of which not all PAGES have come. It is guarded by
// job.mu; its leases have a lock of their own.
type keptInput struct {
	leaves   []keptLeaf
	known    map[uint32]struct{} // their tables
	groups   int                 // of all leaves
	answer   []byte              // KEPT, for those that attach
	segments []joincore.Segment  // what is served, once all participants have fed the input
	settled  bool                // segments are set
	users    int                 // the job, and the filters that are being made
	complete bool                // all participants have fed
}

func (k *keptInput) has(relation uint32) bool {
	_, ok := k.known[relation]
	return ok
}

func (k *keptInput) add(leaf keptLeaf) {
	if k.known == nil {
		k.known = map[uint32]struct{}{}
	}
	k.known[leaf.relation] = struct{}{}
	k.leaves = append(k.leaves, leaf)
	k.groups += leaf.groups
}

// each calls f with the leases of all leaves of which something is kept.
func (k *keptInput) each(f func(*kept.Lease)) {
	for i := range k.leaves {
		if l := k.leaves[i].lease; l != nil {
			f(l)
		}
	}
}

// captures reports whether some leaf captures what is fed of it.
func (k *keptInput) captures() (any bool) {
	k.each(func(l *kept.Lease) { any = any || l.Capture() })
	return any
}

// blocks returns how many blocks the leaves have, how many of them participants feed whatever
// they prove, and how many of these are captured, with the bytes of their rows, all of which are
// fed. A row has rowBytes; rows of which the backend knows nothing may fill their blocks.
func (k *keptInput) blocks(rowBytes float64) (all, unserved, captured int64, bytes float64) {
	for i := range k.leaves {
		leaf := &k.leaves[i]
		n := int64(leaf.blocks)
		all += n
		if leaf.lease != nil {
			n = leaf.lease.Unserved()
			c := leaf.lease.Capturing()
			captured += c
			if leaf.rows > 0 {
				bytes += float64(c) / float64(leaf.blocks) * float64(leaf.rows) * rowBytes
			} else {
				bytes += float64(c) * heapBlock
			}
		}
		unserved += n
	}
	return all, unserved, captured, bytes
}

// captureFirst restricts the captures to n blocks, before they have begun.
func (k *keptInput) captureFirst(n int64) {
	k.each(func(l *kept.Lease) { n -= l.CaptureFirst(n) })
}

// decline ends the captures before they have begun.
func (k *keptInput) decline() { k.each((*kept.Lease).Decline) }

// drop gives back the leases from which nothing is gained, and reports whether there are others.
func (k *keptInput) drop() (any bool) {
	for i := range k.leaves {
		leaf := &k.leaves[i]
		switch {
		case leaf.lease == nil:
		case leaf.lease.Kept():
			any = true
		default:
			leaf.lease.Close(false)
			leaf.lease = nil
		}
	}
	return any
}

// states says how the leaves' groups are fed.
func (k *keptInput) states() ([]shm.KeptLeaf, []shm.GroupState) {
	leaves := make([]shm.KeptLeaf, len(k.leaves))
	states := make([]shm.GroupState, k.groups)
	for i := range k.leaves {
		leaf := &k.leaves[i]
		leaves[i] = shm.KeptLeaf{Relation: leaf.relation, Blocks: leaf.blocks}
		if leaf.lease == nil {
			continue
		}
		leaves[i].Capture = leaf.lease.CaptureEnd()
		for g := range leaf.groups {
			states[leaf.first+g] = shm.GroupState(leaf.lease.State(g))
		}
	}
	return leaves, states
}

// find returns the leaf that has a group of the input, nil if none does.
func (k *keptInput) find(group uint32) *keptLeaf {
	if int64(group) >= int64(k.groups) {
		return nil
	}
	// each leaf has a group
	i := sort.Search(len(k.leaves), func(i int) bool { return k.leaves[i].first > int(group) }) - 1
	return &k.leaves[i]
}

// leafOf returns the lease of the leaf that has a group of the input, and the group's number
// there; nil if nothing of the leaf is kept.
func (k *keptInput) leafOf(group uint32) (*kept.Lease, int) {
	leaf := k.find(group)
	if leaf == nil || leaf.lease == nil {
		return nil, 0
	}
	return leaf.lease, int(group) - leaf.first
}

// captured hands over the blocks of a batch to the leaves that they belong to.
func (k *keptInput) captured(seg joincore.Segment, list []shm.CapturedBlock, source kept.Source) error {
	for len(list) > 0 {
		leaf := k.find(list[0].Block / shm.GroupBlocks)
		if leaf == nil || leaf.lease == nil {
			return fmt.Errorf("%w: captured block %d, of which nothing is kept", kept.ErrLease, list[0].Block)
		}
		first, next := uint32(leaf.first)*shm.GroupBlocks, uint32(leaf.first+leaf.groups)*shm.GroupBlocks
		n := 0
		var blocks []kept.Block
		for ; n < len(list) && list[n].Block < next; n++ {
			blocks = append(blocks, kept.Block{Number: list[n].Block - first, First: list[n].FirstRow, LSN: list[n].LSN})
		}
		part := seg
		if n < len(list) {
			part.Rows = int(list[n].FirstRow)
		}
		if err := leaf.lease.Captured(part, blocks, source); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// release ends a use. The leases end with the last one, because only they keep the segments.
func (k *keptInput) release() {
	if k.users--; k.users == 0 {
		k.each(func(l *kept.Lease) { l.Close(k.complete) })
	}
}

// settle returns the rows that are served.
func (k *keptInput) settle() []joincore.Segment {
	if !k.settled {
		k.settled = true
		k.each(func(l *kept.Lease) { k.segments = append(k.segments, l.Segments()...) })
		k.segments = slices.Clip(k.segments)
	}
	return k.segments
}
