package encode

import (
	"encoding/binary"
	"fmt"
	"math"
)

// numeric is a numeric as numeric_send sends it: digits of base 10000, of which the first
// stands for 10000^weight. Leading and trailing zeros have been cut off.
type numeric struct {
	weight int
	sign   uint16 // signs of the send format
	scale  int    // decimals to show
	digits []byte // 2 bytes each
	little bool   // little-endian, as on disk; else big-endian
}

const (
	positive = 0x0000
	negative = 0x4000
	notANumb = 0xC000
	plusInf  = 0xD000
	minusInf = 0xF000

	mostScale = 0x3FFF
	mostDigit = 9999
)

// nan is a decimal's NaN.
const nan = math.MinInt64

// special reports whether it is NaN or infinite.
func (n *numeric) special() bool { return n.sign&notANumb == notANumb }

func (n *numeric) digit(i int) uint16 {
	if n.little {
		return binary.LittleEndian.Uint16(n.digits[2*i:])
	}
	return binary.BigEndian.Uint16(n.digits[2*i:])
}

func (n *numeric) count() int { return len(n.digits) / 2 }

// parse reads a numeric, as numeric_recv does.
func parse(value []byte) (n numeric, err error) {
	if len(value) < 8 {
		return n, malformed("a numeric", value)
	}
	count := int(binary.BigEndian.Uint16(value))
	n.weight = int(int16(binary.BigEndian.Uint16(value[2:])))
	n.sign = binary.BigEndian.Uint16(value[4:])
	n.scale = int(binary.BigEndian.Uint16(value[6:]))
	n.digits = value[8:]
	if len(n.digits) != 2*count || n.scale > mostScale {
		return n, malformed("a numeric", value)
	}
	switch n.sign {
	case positive, negative:
	case notANumb, plusInf, minusInf:
		n.weight, n.scale, n.digits = 0, 0, nil
		return n, nil
	default:
		return n, malformed("a numeric", value)
	}
	for i := range count {
		if n.digit(i) > mostDigit {
			return n, malformed("a numeric", value)
		}
	}
	for len(n.digits) > 0 && n.digit(0) == 0 {
		n.digits = n.digits[2:]
		n.weight--
	}
	for len(n.digits) > 0 && n.digit(n.count()-1) == 0 {
		n.digits = n.digits[:len(n.digits)-2]
	}
	if len(n.digits) == 0 {
		n.weight, n.sign = 0, positive
	}
	return n, nil
}

// The header of a numeric on disk, from utils/adt/numeric.c: the short one has 16 bits.
const (
	shortForm     = 0x8000
	shortNegative = 0x2000
	shortScale    = 7 // bits below the scale
	mostShortDec  = 63

	shortScaleMask = mostShortDec << shortScale
	weightMask     = 0x7F // two's complement
	leastWeight    = -64
	mostWeight     = 63
)

// numericOnDisk writes what make_result makes of it.
func numericOnDisk(to, value []byte) ([]byte, error) {
	n, err := parse(value)
	if err != nil {
		return to, err
	}
	return n.appendOnDisk(to)
}

func (n *numeric) appendOnDisk(to []byte) ([]byte, error) {
	switch {
	case n.special():
		return binary.LittleEndian.AppendUint16(to, n.sign), nil
	case n.scale <= mostShortDec && n.weight >= leastWeight && n.weight <= mostWeight:
		header := uint16(shortForm | n.scale<<shortScale | n.weight&weightMask)
		if n.sign == negative {
			header |= shortNegative
		}
		to = binary.LittleEndian.AppendUint16(to, header)
	default:
		to = binary.LittleEndian.AppendUint16(to, n.sign|uint16(n.scale))
		to = binary.LittleEndian.AppendUint16(to, uint16(int16(n.weight)))
	}
	return n.appendDigits(to), nil
}

func (n *numeric) appendDigits(to []byte) []byte {
	for i := range n.count() {
		to = binary.LittleEndian.AppendUint16(to, n.digit(i))
	}
	return to
}

// numericKey writes gj_numeric_canonical: sign or kind, weight, digits.
func numericKey(to, value []byte) ([]byte, error) {
	n, err := parse(value)
	if err != nil {
		return to, err
	}
	return n.appendKey(to)
}

func (n *numeric) appendKey(to []byte) ([]byte, error) {
	head := n.sign
	if head == negative {
		head = 1
	}
	to = binary.LittleEndian.AppendUint16(to, head)
	to = binary.LittleEndian.AppendUint16(to, uint16(int16(n.weight)))
	return n.appendDigits(to), nil
}

var power10 = [19]int64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
}

// mostDecimals is the greatest scale of a decimal, and the digits that one may have.
const mostDecimals = 18

// scaled returns the number * 10^scale: gj_numeric_to_decimal, or, if a numeric may have fewer
// decimals, gj_numeric_to_wider.
func (n *numeric) scaled(scale int, wider bool) (int64, error) {
	switch {
	case n.sign == notANumb:
		return nan, nil
	case n.special():
		return 0, fmt.Errorf("%w: an infinite numeric", ErrUnfit)
	case n.scale > scale || n.scale < scale && !wider:
		return 0, fmt.Errorf("%w: a numeric with %d decimals, of %d", ErrUnfit, n.scale, scale)
	}
	sum, exponent := int64(0), 4*n.weight+scale // power of ten of the current digit
	for i := range n.count() {
		digit := int64(n.digit(i))
		switch {
		// All digits after the first add up to less than one unit of it.
		case i == 0 && exponent > 14 && (exponent > mostDecimals || digit >= power10[mostDecimals-exponent]):
			return 0, fmt.Errorf("%w: a numeric with more than %d digits", ErrUnfit, mostDecimals)
		case exponent >= 0:
			sum += digit * power10[exponent]
		case exponent > -4 && digit%power10[-exponent] == 0: // the last one has fewer than four decimals
			sum += digit / power10[-exponent]
		default:
			return 0, malformed("a numeric with digits behind its decimals", n.digits)
		}
		exponent -= 4
	}
	if n.sign == negative {
		sum = -sum
	}
	return sum, nil
}

// decimal is for numerics as integers.
func decimal(scale int, wider bool) write {
	return func(to, value []byte) ([]byte, error) {
		n, err := parse(value)
		if err != nil {
			return to, err
		}
		return n.appendDecimal(to, scale, wider)
	}
}

func (n *numeric) appendDecimal(to []byte, scale int, wider bool) ([]byte, error) {
	v, err := n.scaled(scale, wider)
	if err != nil {
		return to, err
	}
	return binary.LittleEndian.AppendUint64(to, uint64(v)), nil
}

// numericScale writes gj_numeric_scale.
func numericScale(to, value []byte) ([]byte, error) {
	n, err := parse(value)
	if err != nil {
		return to, err
	}
	return n.appendScale(to)
}

func (n *numeric) appendScale(to []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint16(to, uint16(n.scale)), nil
}
