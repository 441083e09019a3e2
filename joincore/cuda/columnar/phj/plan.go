package phj

import (
	"slices"

	"gpujoin/joincore/costmodel"
)

// maxBits bounds the bits of both passes.
const maxBits = 16

// wordBits is up to how many hash bits a histogram has counters of 4 bytes; above, they have 2.
const wordBits = 15

// counterBytes returns the bytes of a counter of a histogram over some hash bits.
func counterBytes(b int) int {
	if b > wordBits {
		return 2
	}
	return 4
}

// mostBits returns the most hash bits such that as many blocks of a histogram as are on a
// multiprocessor at a time have a counter for each partition in its shared memory (MG-Join,
// equation 1). On all GPUs that the kernels run on, which have at least 163 KiB for the one block,
// that is maxBits: so only a GPU with less would have fewer partitions because of it.
func mostBits(shared, blocks int) int {
	b := maxBits
	for b > 0 && costmodel.MostPartitions(shared, counterBytes(b), blocks) < 1<<b {
		b--
	}
	return b
}

// partitionBits returns the number of hash bits such that, on average, a partition of
// the build side fills 9/10 of a work item's chunk.
func partitionBits(buildRows int64, chunkRows int) int {
	b := 0
	for b < maxBits && (buildRows>>b)*10 > int64(chunkRows)*9 {
		b++
	}
	return b
}

// splitBits divides bits between two passes; second is 0 if one suffices. mostFirst
// and mostSecond are the kernels' limits.
func splitBits(b, mostFirst, mostSecond int) (first, second int) {
	b = min(b, mostFirst+mostSecond)
	if b <= mostFirst {
		return b, 0
	}
	first = max(min(b/2, mostFirst), b-mostSecond)
	return first, b - first
}

// outputChunk returns the rows of a chunk of the result: large if blocks fill many
// chunks, small if each fills few.
func outputChunk(rows int64, blocks int) int64 {
	chunk := int64(512)
	for chunk < 4096 && chunk*int64(blocks)*64 < rows {
		chunk *= 2
	}
	return chunk
}

// shapes chooses how the sides are carried, such that there are kernels for the pair,
// and returns the modes in which that is possible: a side that is too wide to carry is
// packed, one that cannot be placed is carried.
func shapes(keyWords int, widths [2][]int, modes [2]mode) ([2]shape, [2]mode) {
	var s [2]shape
	for i := range s {
		u, same := uniform(widths[i])
		if modes[i] == place && (!same || !canPlace(keyWords, u)) {
			modes[i] = carry
		}
		if modes[i] == pack && len(widths[i]) > maxPacked {
			modes[i] = rowID
		}
		switch modes[i] {
		case place:
			s[i] = u
		case rowID:
			s[i] = idShape
		}
	}
	if modes[0] == carry && modes[1] == carry {
		if s, ok := carriedPair(keyWords, widths); ok {
			return s, modes
		}
		// The sides' columns have different widths, or are too wide: the wider side is
		// packed, and the other one too unless it matches positions.
		wide := 0
		if packedBytes(widths[1]) >= packedBytes(widths[0]) {
			wide = 1
		}
		modes[wide] = pack
		return packedPair(keyWords, widths, modes)
	}
	if modes[0] == pack || modes[1] == pack {
		return packedPair(keyWords, widths, modes)
	}
	for i := range s {
		if modes[i] != carry {
			continue
		}
		if s[i] = carriedShape(widths[i]); s[i] == idShape {
			modes[i] = rowID
		}
	}
	return s, modes
}

// packedPair returns the shapes and modes of two sides of which one is packed: the
// other one is carried if there is a match of its columns, or of fields, with positions,
// and packed otherwise.
func packedPair(keyWords int, widths [2][]int, modes [2]mode) (s [2]shape, _ [2]mode) {
	for i := range s {
		if modes[i] == carry {
			pair := [2]shape{oneColumn, oneColumn}
			u, ok := uniform(widths[i])
			if pair[i] = u; ok && pairExists(keyWords, pair[0], pair[1]) {
				s[i] = u
				continue
			}
			if f, ok := asFields(keyWords, widths[i]); ok {
				s[i] = f
				continue
			}
		}
		if len(widths[i]) > maxPacked {
			return [2]shape{idShape, idShape}, [2]mode{rowID, rowID}
		}
		modes[i], s[i] = pack, packedShape(widths[i])
	}
	return s, modes
}

// carriedPair returns the shapes of two sides that are both carried.
func carriedPair(keyWords int, widths [2][]int) (s [2]shape, ok bool) {
	a, okA := uniform(widths[0])
	b, okB := uniform(widths[1])
	if okA && okB && pairExists(keyWords, a, b) {
		return [2]shape{a, b}, true
	}
	s, ok = [2]shape{a, b}, true
	for i := range s {
		if s[i] == oneColumn || s[i] == noPayload { // there is a match of it with all fields
			continue
		}
		var fits bool
		s[i], fits = asFields(keyWords, widths[i])
		ok = ok && fits
	}
	return s, ok
}

// matched returns the shapes that the match sees: a placed side is one of row ids. Row
// ids that are part of the result are a column; so are the positions of a packed side.
func matched(s [2]shape, modes [2]mode, rowIDs bool) [2]shape {
	for i := range s {
		switch {
		case rowIDs || modes[i] == pack:
			s[i] = oneColumn
		case modes[i] == place:
			s[i] = idShape
		}
	}
	return s
}

// pairExists reports whether kernels/entry/fused.inc has a match of two sides of
// uniform columns.
func pairExists(keyWords int, a, b shape) bool {
	narrow := func(s shape) bool { return s.unit == 1 && s.words <= 4 }
	many := func(s shape) bool { return s.unit == 1 && s.words > 4 }
	wide := func(s shape) bool { return s.unit == 2 && s.words != 6 }
	listed := func(s shape) bool { return narrow(s) || wide(s) || many(s) && keyWords == 1 }
	switch {
	case a == noPayload || b == noPayload:
		return listed(a) && listed(b)
	case wide(a) && wide(b):
		return true
	case many(a) && many(b):
		return keyWords == 1
	case narrow(a) && many(b):
		return keyWords == 1 && a.words != 3
	case many(a) && narrow(b):
		return keyWords == 1 && b.words != 3
	case !narrow(a) || !narrow(b):
		return false
	case keyWords == 1:
		return true
	}
	return a.words != 3
}

// bypassed returns the shape of the build side of a bypass, for sides of the given widths and a
// carried probe side; false if there are no kernels.
func bypassed(widths [2][]int, probe shape) (build shape, ok bool) {
	a, okA := uniform(widths[0])
	b, okB := uniform(widths[1])
	return a, okA && okB && b == probe && bypassExists(a, b)
}

// bypassExists reports whether kernels/entry/fused.inc has bypass kernels for two sides
// of uniform columns.
func bypassExists(a, b shape) bool {
	few := func(s shape) bool { return s.words == s.unit || s.words == 2*s.unit }
	return a.unit == b.unit && few(a) && few(b) || a == b && a.unit == 1 && a.words == 4
}

// fit returns the shapes and modes for the wanted modes if they are within the bound,
// else those that need the least memory.
func (v volume) fit(wanted [2]mode) ([2]shape, [2]mode) {
	s, m := shapes(v.keyBytes/4, v.widths, wanted)
	least := v.peak(s, m)
	if least <= v.bound() {
		return s, m
	}
	carried := carriedIn(wanted)
	packed := [][2]mode{{pack, carried[1]}, {carried[0], pack}}
	if packedBytes(v.widths[1]) > packedBytes(v.widths[0]) {
		slices.Reverse(packed)
	}
	for _, other := range append(append([][2]mode{carried}, packed...), [2]mode{pack, pack}, [2]mode{rowID, carried[1]}, [2]mode{carried[0], rowID}, [2]mode{rowID, rowID}) {
		so, mo := shapes(v.keyBytes/4, v.widths, other)
		if p := v.peak(so, mo); p < least {
			least, s, m = p, so, mo
			if p <= v.bound() {
				break
			}
		}
	}
	return s, m
}

// carriedIn returns the modes with placed sides carried instead.
func carriedIn(modes [2]mode) [2]mode {
	for i := range modes {
		if modes[i] == place {
			modes[i] = carry
		}
	}
	return modes
}
