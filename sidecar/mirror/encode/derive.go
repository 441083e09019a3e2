package encode

import (
	"bytes"
	"encoding/binary"
	"math"

	"gpujoin/joincore"
)

// Derivation makes of a stored value the bytes of another form: those that the encoder of that
// form makes of the value as it is sent. It is safe for concurrent use.
type Derivation struct {
	Form  Form
	Scale int

	stored  joincore.Column
	encoder *Encoder // of what is stored, without a header
}

// Derive returns how a form is made of values that are stored in the form Value or Decimal. The
// error wraps ErrNone.
func Derive(stored Type, form Form, scale int) (*Derivation, error) {
	to := Type{OID: stored.OID, Form: form, Scale: scale}
	from, err := New(stored)
	if err != nil {
		return nil, err
	}
	wanted, err := New(to)
	if err != nil {
		return nil, err
	}
	d := &Derivation{Form: form, Scale: scale, stored: from.column}
	write := d.writeOf(stored, form)
	if write == nil {
		return nil, none(to)
	}
	d.encoder = &Encoder{wanted.column, write, wanted.length}
	return d, nil
}

// writeOf returns what writes a form without a header; nil: it is not made of what is stored.
func (d *Derivation) writeOf(stored Type, form Form) write {
	if stored.OID == numericOID {
		switch stored.Form {
		case Value:
			return numericAs(form, d.Scale, parseStored)
		case Decimal:
			return numericAs(form, d.Scale, func(value []byte) (numeric, error) { return ofDecimal(value, stored.Scale) })
		}
	}
	if stored.Form != Value {
		return nil
	}
	switch (pair{stored.OID, form}) {
	case pair{bpcharOID, BpcharKey}:
		return withoutBlanks
	case pair{nameOID, NameKey}:
		return storedName
	case pair{float4OID, FloatKey}:
		return storedFloat(4, floatKey)
	case pair{float8OID, FloatKey}:
		return storedFloat(8, floatKey)
	case pair{float4OID, FloatOrder}:
		return storedFloat(4, floatOrder)
	case pair{float8OID, FloatOrder}:
		return storedFloat(8, floatOrder)
	case pair{dateOID, DateKey}:
		return storedDate
	case pair{intervalOID, IntervalKey}:
		return storedInterval
	}
	return nil
}

// Column returns the physical type of the derived column.
func (d *Derivation) Column() joincore.Column { return d.encoder.column }

// Append appends the form of a stored value, which is as Encoder.Append writes it. `to` is
// unspecified after an error, which wraps ErrMalformed or ErrUnfit.
func (d *Derivation) Append(to, stored []byte) ([]byte, error) {
	if d.stored.Kind == joincore.Varlena {
		payload, err := joincore.TextPayload(stored)
		if err != nil {
			return to, malformed("a stored value", stored)
		}
		stored = payload
	} else if len(stored) != d.stored.Width {
		return to, wrong(d.stored.Width, stored)
	}
	return d.encoder.Append(to, stored)
}

func storedName(to, value []byte) ([]byte, error) {
	if end := bytes.IndexByte(value, 0); end >= 0 {
		value = value[:end]
	}
	return append(to, value...), nil
}

func storedFloat(size int, key func(float64) int64) write {
	if size == 4 {
		return func(to, value []byte) ([]byte, error) {
			v := float64(math.Float32frombits(binary.LittleEndian.Uint32(value)))
			return binary.LittleEndian.AppendUint64(to, uint64(key(v))), nil
		}
	}
	return func(to, value []byte) ([]byte, error) {
		v := math.Float64frombits(binary.LittleEndian.Uint64(value))
		return binary.LittleEndian.AppendUint64(to, uint64(key(v))), nil
	}
}

func storedDate(to, value []byte) ([]byte, error) {
	return appendDateKey(to, int32(binary.LittleEndian.Uint32(value))), nil
}

func storedInterval(to, value []byte) ([]byte, error) {
	micros := int64(binary.LittleEndian.Uint64(value))
	day, month := int32(binary.LittleEndian.Uint32(value[8:])), int32(binary.LittleEndian.Uint32(value[12:]))
	return appendIntervalKey(to, micros, day, month), nil
}

// numericAs returns what writes a form of a numeric that read reads.
func numericAs(form Form, scale int, read func([]byte) (numeric, error)) write {
	as := func(f func(*numeric, []byte) ([]byte, error)) write {
		return func(to, value []byte) ([]byte, error) {
			n, err := read(value)
			if err != nil {
				return to, err
			}
			return f(&n, to)
		}
	}
	switch form {
	case Value:
		return as((*numeric).appendOnDisk)
	case Decimal, Unscaled:
		return as(func(n *numeric, to []byte) ([]byte, error) { return n.appendDecimal(to, scale, true) })
	case NumericKey:
		return as((*numeric).appendKey)
	case Scale:
		return as((*numeric).appendScale)
	}
	return nil
}

// parseStored reads a numeric as it is on disk.
func parseStored(value []byte) (n numeric, err error) {
	if len(value) < 2 || len(value)%2 != 0 {
		return n, malformed("a stored numeric", value)
	}
	n.little = true
	header := binary.LittleEndian.Uint16(value)
	switch {
	case header&notANumb == notANumb:
		n.sign = header & minusInf
	case header&shortForm != 0:
		n.digits = value[2:]
		n.scale = int(header & shortScaleMask >> shortScale)
		n.weight = int(int8(header<<1)) >> 1 // 7 bits, two's complement
		if header&shortNegative != 0 {
			n.sign = negative
		}
	case len(value) < 4:
		return n, malformed("a stored numeric", value)
	default:
		n.sign, n.scale = header&negative, int(header&mostScale)
		n.weight = int(int16(binary.LittleEndian.Uint16(value[2:])))
		n.digits = value[4:]
	}
	for i := range n.count() {
		if n.digit(i) > mostDigit {
			return n, malformed("a stored numeric", value)
		}
	}
	return n, nil
}

// digitsOf is the number of decimals of a digit of a numeric.
const digitsOf = 4

// ofDecimal makes a numeric of a decimal.
func ofDecimal(value []byte, scale int) (n numeric, err error) {
	v := int64(binary.LittleEndian.Uint64(value))
	if v == nan {
		return numeric{sign: notANumb}, nil
	}
	n.scale = scale
	if v == 0 {
		return n, nil
	}
	rest := uint64(v)
	if v < 0 {
		n.sign, rest = negative, -rest
	}
	whole, rest := rest/uint64(power10[scale]), rest%uint64(power10[scale])
	var digits [12]uint16 // five before the point, and five behind it
	point := 6
	first := point
	for ; whole > 0; whole /= mostDigit + 1 {
		first--
		digits[first] = uint16(whole % (mostDigit + 1))
	}
	end := point
	for left := scale; rest > 0; left -= digitsOf {
		if left >= digitsOf {
			digits[end], rest = uint16(rest/uint64(power10[left-digitsOf])), rest%uint64(power10[left-digitsOf])
		} else {
			digits[end], rest = uint16(rest*uint64(power10[digitsOf-left])), 0
		}
		end++
	}
	for digits[first] == 0 {
		first++
	}
	for digits[end-1] == 0 {
		end--
	}
	n.weight = point - first - 1
	for _, d := range digits[first:end] {
		n.digits = binary.BigEndian.AppendUint16(n.digits, d)
	}
	return n, nil
}
