package joincore

import (
	"encoding/binary"
	"math/bits"
)

// KeyClass says when two key values are equal. NULL equals nothing.
type KeyClass uint8

const (
	// KeyInt compares signed integers by value, across widths 1, 2, 4 and 8.
	KeyInt KeyClass = iota + 1
	// KeyBytes compares Fixed columns of one width by their bytes.
	KeyBytes
	// KeyVarlena compares Varlena values of one alignment by their bytes, header and padding
	// included.
	KeyVarlena
)

// Compares reports whether the class compares values of two columns.
func (k KeyClass) Compares(a, b Column) bool {
	switch k {
	case KeyInt:
		return a.IsInt() && b.IsInt()
	case KeyBytes:
		return a.Kind == Fixed && b.Kind == Fixed && a.Width == b.Width
	case KeyVarlena:
		return a.Kind == Varlena && b.Kind == Varlena && a.Align == b.Align
	}
	return false
}

// KeyPair is one equality of a join.
type KeyPair struct {
	Left  ColumnRef // below the join's left child
	Right ColumnRef // below the join's right child
	Class KeyClass
}

// HashWord mixes one more word into a hash. Steps that divide the same rows one after the
// other take different bits of it.
func HashWord(h, w uint64) uint64 {
	hi, lo := bits.Mul64(h^w^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
	return hi ^ lo ^ h>>17
}

// HashBytes mixes a value of any length into a hash.
func HashBytes(h uint64, b []byte) uint64 {
	n := len(b)
	for ; len(b) >= 8; b = b[8:] {
		h = HashWord(h, binary.LittleEndian.Uint64(b))
	}
	var last uint64
	for i, x := range b {
		last |= uint64(x) << (8 * i)
	}
	return HashWord(HashWord(h, last), uint64(n))
}
