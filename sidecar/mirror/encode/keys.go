package encode

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
)

// OIDs of the types that have more forms than Value.
const (
	nameOID     = 19
	float4OID   = 700
	float8OID   = 701
	bpcharOID   = 1042
	dateOID     = 1082
	intervalOID = 1186
	numericOID  = 1700
)

// newKey returns the encoder of a form other than Value: fdw/feed/writer.c, gj_copy_of.
func newKey(t Type) (*Encoder, error) {
	switch (pair{t.OID, t.Form}) {
	case pair{numericOID, Decimal}, pair{numericOID, Unscaled}:
		if t.Scale < 0 || t.Scale > mostDecimals {
			return nil, none(t)
		}
		return fixed(8, decimal(t.Scale, t.Form == Unscaled)), nil
	case pair{numericOID, NumericKey}:
		return variable(4, numericKey), nil
	case pair{numericOID, Scale}:
		return fixed(2, numericScale), nil
	case pair{bpcharOID, BpcharKey}:
		return variable(4, withoutBlanks), nil
	case pair{nameOID, NameKey}:
		return variable(4, nil), nil
	case pair{float4OID, FloatKey}:
		return fixed(8, float(4, floatKey)), nil
	case pair{float8OID, FloatKey}:
		return fixed(8, float(8, floatKey)), nil
	case pair{float4OID, FloatOrder}:
		return fixed(8, float(4, floatOrder)), nil
	case pair{float8OID, FloatOrder}:
		return fixed(8, float(8, floatOrder)), nil
	case pair{dateOID, DateKey}:
		return fixed(8, dateKey), nil
	case pair{intervalOID, IntervalKey}:
		return fixed(16, intervalKey), nil
	}
	return nil, none(t)
}

type pair struct {
	oid  uint32
	form Form
}

func withoutBlanks(to, value []byte) ([]byte, error) {
	return append(to, bytes.TrimRight(value, " ")...), nil
}

// float reads a float of a size and writes it as an integer.
func float(size int, key func(float64) int64) write {
	return func(to, value []byte) ([]byte, error) {
		if len(value) != size {
			return to, wrong(size, value)
		}
		var v float64
		if size == 4 {
			v = float64(math.Float32frombits(binary.BigEndian.Uint32(value)))
		} else {
			v = math.Float64frombits(binary.BigEndian.Uint64(value))
		}
		return binary.LittleEndian.AppendUint64(to, uint64(key(v))), nil
	}
}

// floatKey is gj_float_key: PostgreSQL equates all NaNs, and -0 with 0.
func floatKey(v float64) int64 {
	switch {
	case math.IsNaN(v):
		return math.MaxInt64
	case v == 0:
		return 0
	}
	return int64(math.Float64bits(v))
}

// floatOrder is gj_float_order. -0 becomes the integer that nothing is compared with.
func floatOrder(v float64) int64 {
	word := int64(math.Float64bits(v))
	switch {
	case math.IsNaN(v):
		return math.MaxInt64
	case word >= 0:
		return word
	case v == 0:
		return math.MinInt64
	}
	return word ^ math.MaxInt64
}

// Dates and timestamps of datatype/timestamp.h.
const (
	dateBegin    = math.MinInt32 // -infinity
	dateEnd      = math.MaxInt32
	datesEnd     = 109203528 - 2451545 // the first day behind all timestamps
	timestampEnd = 9223371331200000000
	dayMicros    = 86400 * 1000000
	monthDays    = 30
)

// dateKey writes gj_date_key.
func dateKey(to, value []byte) ([]byte, error) {
	if len(value) != 4 {
		return to, wrong(4, value)
	}
	return appendDateKey(to, int32(binary.BigEndian.Uint32(value))), nil
}

func appendDateKey(to []byte, day int32) []byte {
	date := int64(day)
	key := date * dayMicros
	switch {
	case date == dateBegin:
		key = math.MinInt64
	case date == dateEnd:
		key = math.MaxInt64
	case date >= datesEnd:
		key = timestampEnd
	}
	return binary.LittleEndian.AppendUint64(to, uint64(key))
}

// intervalKey writes gj_interval_key: microseconds as an integer of 128 bits.
func intervalKey(to, value []byte) ([]byte, error) {
	if len(value) != 16 {
		return to, wrong(16, value)
	}
	day, month := int32(binary.BigEndian.Uint32(value[8:])), int32(binary.BigEndian.Uint32(value[12:]))
	return appendIntervalKey(to, int64(binary.BigEndian.Uint64(value)), day, month), nil
}

func appendIntervalKey(to []byte, micros int64, day, month int32) []byte {
	days := int64(month)*monthDays + int64(day)
	high, low := bits.Mul64(uint64(days), dayMicros)
	high += uint64(days>>63) * dayMicros // -1 if the factor is negative
	low, carry := bits.Add64(low, uint64(micros), 0)
	high, _ = bits.Add64(high, uint64(micros>>63), carry)
	to = binary.LittleEndian.AppendUint64(to, low)
	return binary.LittleEndian.AppendUint64(to, high)
}
