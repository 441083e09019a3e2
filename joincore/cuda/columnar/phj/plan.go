package phj

import (
	"fmt"
	"slices"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
)

// mode is how a side's payload goes through a join.
type mode uint8

const (
	carry mode = iota // moved with the key by every pass (OM)
	place             // moved by the first pass, then gathered from where that has clustered it
	pack              // the same, packed into lanes: any number of columns of any widths
	rowID             // gathered from the input by row id (UM)
)

// form is how the kernels see it: kernels/layout/payload.cuh.
type form uint8

const (
	columns form = iota
	fields
	beside // fields, of which one of 1 byte shares the key's word with what is left of the hash
	byID
	packed
)

// shape is a side's payload as the passes carry it: words of 4 bytes next to the key's,
// `unit` of them per column.
type shape struct {
	form  form
	words int
	unit  int
}

// String is the shape in the names of kernels.
func (s shape) String() string {
	switch {
	case s.form == byID:
		return "id"
	case s.form == packed:
		return "packed"
	case s.form == fields:
		return fmt.Sprintf("f%d", s.words)
	case s.form == beside:
		return fmt.Sprintf("h%d", 4*s.words+1)
	case s.words == 0:
		return "0"
	}
	return fmt.Sprintf("%dx%d", 4*s.unit, s.words/s.unit)
}

var (
	idShape   = shape{form: byID, words: 1, unit: 1}
	oneColumn = shape{words: 1, unit: 1}
)

// positioned reports whether the passes move positions of payload that the first pass has
// clustered.
func (m mode) positioned() bool { return m == place || m == pack }

// mostRead is the most words of a row, with the key, whose fields a first pass reads four rows
// at a time. That of wider ones copies columns to shared memory.
const mostRead = 4

// firstKernel returns the name of the kernel for the first pass of a side. aligned: its
// columns begin at multiples of 16 bytes.
func firstKernel(keyWords int, s shape, aligned bool) string {
	if packedFirst(keyWords, s) || s.form == fields && !aligned {
		return fmt.Sprintf("gj_pack_k%d", keyWords)
	}
	return fmt.Sprintf("gj_first_k%d_%s", keyWords, s)
}

// secondKernel returns the name of the kernel for the second pass of a side.
func secondKernel(keyWords int, s shape, m mode) string {
	switch {
	case m.positioned():
		return fmt.Sprintf("gj_place_k%d", keyWords)
	case s.form == beside:
		return fmt.Sprintf("gj_second_rest_w%d", keyWords+s.words)
	}
	return fmt.Sprintf("gj_second_k%d_w%d", keyWords, keyWords+s.words)
}

// packedFirst reports whether a side has the first pass of packed payload, wherever its
// columns begin.
func packedFirst(keyWords int, s shape) bool {
	return s.form == packed || s.form == fields && keyWords+s.words > mostRead
}

// maxFieldWords is the largest payload, in words, that is carried as fields.
const maxFieldWords = 8

// uniform returns the shape of columns that all have 4 or all have 8 bytes. Above 4
// columns their number is rounded up to an even one.
func uniform(widths []int) (shape, bool) {
	if len(widths) == 0 {
		return shape{unit: 1}, true
	}
	unit := widths[0] / 4
	if unit < 1 || unit > 2 || len(widths)*unit > maxColumns {
		return shape{}, false
	}
	for _, w := range widths {
		if w != 4*unit {
			return shape{}, false
		}
	}
	words := unit * len(widths)
	if unit == 1 && words > 4 {
		words += words % 2
	}
	return shape{words: words, unit: unit}, true
}

// fieldWords returns the words of a row of fields: values are in the order of their
// widths, so that none crosses a multiple of its width.
func fieldWords(widths []int) int {
	n := 0
	for _, w := range widths {
		n += w
	}
	return (n + 3) / 4
}

// fieldShapes are the words of rows of fields by words of the key. Without an even number,
// a key of 8 bytes would not be in one lane of a row buffer.
var fieldShapes = [3][]int{1: {1, 2, 3, 4, 6, maxFieldWords}, 2: {2, 4, 6, maxFieldWords}}

// asFields returns the shape of columns of any widths; false if they are too wide.
func asFields(keyWords int, widths []int) (shape, bool) {
	return narrowest(widths, fieldShapes[keyWords])
}

// narrowest returns the first shape of fields, of those of the given words, that holds the
// columns.
func narrowest(widths, shapes []int) (shape, bool) {
	for _, words := range shapes {
		if fieldWords(widths) <= words {
			return shape{form: fields, words: words, unit: 1}, true
		}
	}
	return shape{}, false
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
		if s[i] == oneColumn { // there is a match of it with all fields
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

// carriedShape returns the shape of a carried side if the other one is reached
// by row id.
func carriedShape(widths []int) shape {
	if s, ok := uniform(widths); ok {
		switch s.String() {
		case "4x1", "4x2", "4x4", "8x2":
			return s
		}
	}
	if s, ok := narrowest(widths, []int{2, 4, maxFieldWords}); ok {
		return s
	}
	return idShape
}

// The hash of a key of 4 bytes is a bijection. Once a pass has divided rows by besideBits of
// it, the rest fits a word together with a value of 1 byte, and rows of 1 or 5 bytes of
// payload take a word less.
const besideBits = 8

// A second pass of fewer bits than these adds to so few counters that it is slower. For a side
// that takes no word less this is a loss, which the other side makes up for if it has twice as
// many rows.
const besideSecondBits = 4

// besides returns the shapes of a carried pair with a byte beside the rest of the hash on
// the sides where that saves a word; false if that is on neither, or there are no kernels
// for the pair, or it does not pay. rows are the sides', bits are those of the join, which must have a second
// pass; aligned as for firstKernel.
func besides(keyWords int, rows [2]int64, bits int, s [2]shape, modes [2]mode, widths [2][]int, aligned [2]bool) ([2]shape, bool) {
	if keyWords != 1 || bits <= besideBits || modes != [2]mode{carry, carry} {
		return s, false
	}
	was, saved := s, [2]bool{}
	for i := range s {
		bytes := 0
		for _, w := range widths[i] {
			bytes += w
		}
		switch {
		case bytes == 0:
			s[i] = shape{unit: 1}
		case bytes%4 == 1 && bytes <= 5 && aligned[i]:
			s[i] = shape{form: beside, words: bytes / 4, unit: 1}
			saved[i] = true
		case s[i].words > 1 || s[i].form == fields && !aligned[i]: // its first pass may not write to so many partitions
			return was, false
		}
	}
	pays := saved[0] || saved[1]
	if bits < besideBits+besideSecondBits {
		pays = saved[0] && (saved[1] || rows[0] >= 2*rows[1]) || saved[1] && rows[1] >= 2*rows[0]
	}
	if !pays {
		return was, false
	}
	return s, true
}

// pairExists reports whether kernels/entry/fused.inc has a match of two sides of
// uniform columns.
func pairExists(keyWords int, a, b shape) bool {
	narrow := func(s shape) bool { return s.unit == 1 && s.words <= 4 }
	many := func(s shape) bool { return s.unit == 1 && s.words > 4 }
	wide := func(s shape) bool { return s.unit == 2 && s.words != 6 }
	switch {
	case wide(a) && wide(b):
		return true
	case many(a) && many(b):
		return keyWords == 1
	case narrow(a) && many(b):
		return keyWords == 1 && a.words != 0 && a.words != 3
	case many(a) && narrow(b):
		return keyWords == 1 && b.words != 0 && b.words != 3
	case !narrow(a) || !narrow(b):
		return false
	case keyWords == 1:
		return true
	}
	return a.words != 0 && a.words != 3
}

// bypassExists reports whether kernels/entry/fused.inc has bypass kernels for two sides
// of uniform columns.
func bypassExists(a, b shape) bool {
	few := func(s shape) bool { return s.words == s.unit || s.words == 2*s.unit }
	return a.unit == b.unit && few(a) && few(b) || a == b && a.unit == 1 && a.words == 4
}

// volume has the parameters of a join's memory use.
type volume struct {
	keyBytes   int
	rows       [2]int64
	widths     [2][]int
	outputRows int64
}

// bytes returns the bytes of the inputs and of the result.
func (v volume) bytes() (in, out int64) {
	width := [2]int64{int64(v.keyBytes), int64(v.keyBytes)}
	for i, w := range v.widths {
		for _, b := range w {
			width[i] += int64(b)
		}
		in += v.rows[i] * width[i]
	}
	return in, v.outputRows * (width[0] + width[1] - int64(v.keyBytes))
}

// bound is the most device memory in bytes that a join may use; inputs are included.
func (v volume) bound() int64 {
	in, out := v.bytes()
	return columnar.Bound(in, v.rows[0]+v.rows[1], out)
}

// peak models the peak memory for payloads of the given shapes. The first passes of both
// sides use the same memory, one after the other, and then the result, except for what is
// gathered from there.
func (v volume) peak(s [2]shape, modes [2]mode) int64 {
	in, out := v.bytes()
	var first, final, placed, moved int64
	for i, rows := range v.rows {
		words := int64(v.keyBytes/4 + s[i].words)
		switch modes[i] {
		case carry, rowID:
			first = max(first, rows*4*words)
		case place:
			placed += rows * 4 * words
			words = int64(v.keyBytes/4 + 1)
		case pack: // the keys' lane of the first pass is not needed after the second
			placed += rows * 4 * int64(s[i].words)
			first = max(first, rows*int64(v.keyBytes))
			words = int64(v.keyBytes/4 + 1)
			switch positionsOf(v.widths[i]) {
			case positionsMove:
				moved += v.outputRows * positionBytes
			case positionsApart:
				out += v.outputRows * positionBytes
			}
		}
		final += rows * 4 * words
	}
	return in + final + placed + max(first, out) + max(0, moved-final)
}

// bypassPeak models the peak memory if the fraction `hot` of the probe rows takes the
// bypass: the result exists from the beginning, and the probe side's buffers replace
// the build side's first one.
func (v volume) bypassPeak(s [2]shape, hot float64) int64 {
	in, out := v.bytes()
	of := func(i int) int64 { return v.rows[i] * int64(v.keyBytes+4*s[i].words) }
	cold := int64(float64(of(1)) * (1 - hot))
	return in + out + of(0) + max(of(0), 2*cold)
}

// keptRows is the capacity, in probe rows, of a side reduced by a filter if the
// fraction `match` has a match: the rows that the filter passes plus the sampling
// error.
func (v volume) keptRows(match float64) int64 {
	share := match + (1-match)*costmodel.FilterLeaves(v.rows[0])
	return min(v.rows[1], int64(float64(v.rows[1])*(share*9/8+1./64))+1024)
}

// reduced returns the join of the reduced probe side, and the bytes that it uses in
// addition: the original probe side. Filters are freed before buffers are taken, and
// smaller than those.
func (v volume) reduced(rows int64) (left volume, extra int64) {
	left = v
	left.rows[1] = rows
	all, _ := v.bytes()
	build, _ := volume{v.keyBytes, [2]int64{v.rows[0], 0}, v.widths, 0}.bytes()
	return left, all - build
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

// canPlace reports whether the first pass leaves keys of keyWords in a lane of their
// own next to payload of the given shape: Lanes in kernels/layout/row.cuh.
func canPlace(keyWords int, s shape) bool {
	if s.form != columns {
		return false
	}
	switch s.words {
	case 2:
		return keyWords == 1
	case 4:
		return true
	case 8:
		return keyWords == 1 || s.unit == 2
	}
	return false
}

// laneOf returns the location of payload word q in a buffer for which canPlace holds:
// the byte offset of its first value and the bytes from one row to the next. words is
// the payload's width, capacity the buffer's rows.
func laneOf(keyWords, words, q int, capacity uint64) (offset, stride uint64) {
	if words == 2 {
		return capacity*uint64(4*keyWords) + uint64(4*q), 8
	}
	return capacity*uint64(4*keyWords+16*(q/4)) + uint64(q%4*4), 16
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

const maxBits = 16

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
