package cpu

import (
	"encoding/binary"
	"math/bits"
)

// Truth values are a byte each. Eight of them are handled at a time, as a word.
const everyByte uint64 = 0x0101010101010101

// truthMasks choose truth values: those that are set in which, bit 0 for isFalse, bit 1
// for isUnknown, bit 2 for isTrue.
type truthMasks struct{ isFalse, isUnknown, isTrue uint64 }

func masksOf(which uint8) truthMasks {
	of := func(truth uint8) uint64 { return -uint64(which>>truth&1) & everyByte }
	return truthMasks{of(isFalse), of(isUnknown), of(isTrue)}
}

// chosen has a 1 in each byte of w with one of the truth values.
func (m truthMasks) chosen(w uint64) uint64 {
	return m.isFalse&^(w|w>>1) | m.isUnknown&w | m.isTrue&(w>>1)
}

// countTruths returns how many truth values are set in which.
func countTruths(truths []uint8, which uint8) int {
	n, masks := 0, masksOf(which)
	for ; len(truths) >= 8; truths = truths[8:] {
		n += bits.OnesCount64(masks.chosen(binary.LittleEndian.Uint64(truths)))
	}
	for _, x := range truths {
		n += int(which >> (x & 3) & 1)
	}
	return n
}

// selectTruths writes the numbers of the truth values that are set in which to sel,
// which is as long as truths at least, and returns their number.
func selectTruths(sel []uint32, truths []uint8, which uint8) int {
	// Few rows are found one by one. Among many, that would be mispredicted.
	const few = 8
	m, i := 0, 0
	if countTruths(truths, which) < len(truths)/few {
		masks := masksOf(which)
		for ; i+8 <= len(truths); i += 8 {
			for w := masks.chosen(binary.LittleEndian.Uint64(truths[i:])); w != 0; w &= w - 1 {
				sel[m] = uint32(i + bits.TrailingZeros64(w)/8)
				m++
			}
		}
	}
	for ; i < len(truths); i++ {
		sel[m] = uint32(i)
		m += int(which >> (truths[i] & 3) & 1)
	}
	return m
}

// andTruths makes each truth of out the lesser of its own and v's.
func andTruths(out, v []uint8) {
	v = v[:len(out)]
	i := 0
	for ; i+8 <= len(out); i += 8 {
		a, b := binary.LittleEndian.Uint64(out[i:]), binary.LittleEndian.Uint64(v[i:])
		both := a & b & (everyByte << 1) // true
		binary.LittleEndian.PutUint64(out[i:], both|(a|a>>1)&(b|b>>1)&^(both>>1)&everyByte)
	}
	for ; i < len(out); i++ {
		out[i] = min(out[i], v[i])
	}
}

// orTruths makes each truth of out the greater of its own and v's.
func orTruths(out, v []uint8) {
	v = v[:len(out)]
	i := 0
	for ; i+8 <= len(out); i += 8 {
		either := binary.LittleEndian.Uint64(out[i:]) | binary.LittleEndian.Uint64(v[i:])
		one := either & (everyByte << 1) // true
		binary.LittleEndian.PutUint64(out[i:], one|either&^(one>>1)&everyByte)
	}
	for ; i < len(out); i++ {
		out[i] = max(out[i], v[i])
	}
}
