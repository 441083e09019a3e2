package cpu

import (
	"context"
	"sort"

	"gpujoin/joincore/device"
)

// MergePath divides the merge of two sorted spaces along its path (Green et al.,
// ICS 2012): each part takes equally many steps, whatever keys repeat. The start of a
// part on the build side is then moved back to the first row with the key of its
// first probe row.
func (d *dev) MergePath(_ context.Context, build, probe device.Sorted, parts int) ([]device.MergePoint, error) {
	b, p := asSpace(build).sortedKeys(), asSpace(probe).sortedKeys()
	points := make([]device.MergePoint, 0, parts+1)
	for i := range parts + 1 {
		at := mergePath(b, p, (len(b)+len(p))/parts*i)
		if i == parts {
			at = len(p)
		}
		points = append(points, device.MergePoint{Build: int64(lowerBound(b, p, at)), Probe: int64(at)})
	}
	return points, nil
}

func (s *space) sortedKeys() []uint64 { return s.keys.v64[0][:s.keyed] }

// mergePath returns how many of the first n keys of the merged order come from p. Of
// equal keys b's come first.
func mergePath(b, p []uint64, n int) int {
	low, high := max(0, n-len(b)), min(n, len(p))
	return low + sort.Search(high-low, func(i int) bool {
		return int64(p[low+i]) >= int64(b[n-low-i-1])
	})
}

// lowerBound returns the first index in b whose key is not less than p[row].
func lowerBound(b, p []uint64, row int) int {
	if row == len(p) {
		return len(b)
	}
	return sort.Search(len(b), func(i int) bool { return int64(b[i]) >= int64(p[row]) })
}

// MergeMatch makes a table of sorted keys. A prober finds the partners of a chunk by
// advancing in both.
func (st *stream) MergeMatch(build device.Sorted, from int64, m *device.Match) (device.Table, error) {
	s := asSpace(build)
	if err := s.needMarks(m); err != nil {
		return nil, err
	}
	t := &st.merged
	t.dev, t.space, t.sorted, t.cursor = st.dev, s, s.sortedKeys(), int(from)
	t.chains.Store(s.repeats)
	return t, nil
}

// lookupSorted sets head to the first build position, plus 1, of each key, or to 0 if
// there is none. It moves one step along the merge path at a time, without a
// key-dependent branch. Any number of build rows may separate two keys.
func (t *table) lookupSorted(ctx context.Context, keys []uint64, head []uint32) error {
	i := 0
	for i < len(keys) && t.cursor < len(t.sorted) {
		if err := stopped(ctx); err != nil {
			return err
		}
		i += t.advance(keys[i:], head[i:len(keys)], min(t.cursor+stepRows, len(t.sorted)))
	}
	clear(head[i:len(keys)])
	return nil
}

// advance finds the chains of the keys that the first build rows decide, and returns
// the number of these keys.
func (t *table) advance(keys []uint64, head []uint32, rows int) int {
	build, at, i := t.sorted[:rows], t.cursor, 0
	head = head[:len(keys)]
	for i < len(keys) && at < len(build) {
		b, k := build[at], keys[i]
		found := uint32(0)
		if b == k {
			found = uint32(at) + 1
		}
		head[i] = found
		behind := 0
		if int64(b) < int64(k) {
			behind = 1
		}
		at += behind
		i += 1 - behind
	}
	t.cursor = at
	return i
}

// nextSorted returns the position, plus 1, of the next row with the key of
// one; 0: none.
func (t *table) nextSorted(h uint32) uint32 {
	if int(h) < len(t.sorted) && t.sorted[h] == t.sorted[h-1] {
		return h + 1
	}
	return 0
}
