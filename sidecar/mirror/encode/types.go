package encode

import (
	"encoding/binary"
	"fmt"
)

// description says how the values of a type are stored: pg_type.typlen and typalign, and what
// turns the send format into those bytes.
type description struct {
	length int // bytes; 0: variable
	align  int // bytes
	write  write
}

// types are the types with an encoder in the form Value, by their OIDs in pg_type.dat, and
// without arrays and enums. Of the others, some have a send format that says less than, or
// something else than, what is on disk: jsonb, xml, path, polygon, tsvector, ranges, records.
var types = map[uint32]description{
	16:   {1, 1, boolean},       // bool
	17:   {0, 4, nil},           // bytea
	18:   {1, 1, same(1)},       // "char"
	19:   {64, 1, name},         // name
	20:   {8, 8, swap8(1)},      // int8
	21:   {2, 2, swap2},         // int2
	23:   {4, 4, swap4},         // int4
	25:   {0, 4, nil},           // text
	26:   {4, 4, swap4},         // oid
	27:   {6, 2, tid},           // tid
	28:   {4, 4, swap4},         // xid
	29:   {4, 4, swap4},         // cid
	114:  {0, 4, nil},           // json
	600:  {16, 8, swap8(2)},     // point
	601:  {32, 8, swap8(4)},     // lseg
	603:  {32, 8, swap8(4)},     // box
	628:  {24, 8, swap8(3)},     // line
	650:  {0, 4, inet},          // cidr
	700:  {4, 4, swap4},         // float4
	701:  {8, 8, swap8(1)},      // float8
	718:  {24, 8, swap8(3)},     // circle
	774:  {8, 4, same(8)},       // macaddr8
	790:  {8, 8, swap8(1)},      // money
	829:  {6, 4, same(6)},       // macaddr
	869:  {0, 4, inet},          // inet
	1042: {0, 4, nil},           // char(n)
	1043: {0, 4, nil},           // varchar
	1082: {4, 4, swap4},         // date
	1083: {8, 8, swap8(1)},      // time
	1114: {8, 8, swap8(1)},      // timestamp
	1184: {8, 8, swap8(1)},      // timestamptz
	1186: {16, 8, interval},     // interval
	1266: {12, 8, timetz},       // timetz
	1560: {0, 4, bitString},     // bit(n)
	1562: {0, 4, bitString},     // varbit
	1700: {0, 4, numericOnDisk}, // numeric
	2950: {16, 1, same(16)},     // uuid
	3220: {8, 8, swap8(1)},      // pg_lsn
	5069: {8, 8, swap8(1)},      // xid8
}

func wrong(want int, value []byte) error {
	return fmt.Errorf("%w: %d bytes, where the type has %d", ErrMalformed, len(value), want)
}

// same is for bytes that are sent as they are stored.
func same(n int) write {
	return func(to, value []byte) ([]byte, error) {
		if len(value) != n {
			return to, wrong(n, value)
		}
		return append(to, value...), nil
	}
}

func swap2(to, value []byte) ([]byte, error) {
	if len(value) != 2 {
		return to, wrong(2, value)
	}
	return append(to, value[1], value[0]), nil
}

func swap4(to, value []byte) ([]byte, error) {
	if len(value) != 4 {
		return to, wrong(4, value)
	}
	return binary.LittleEndian.AppendUint32(to, binary.BigEndian.Uint32(value)), nil
}

// swap8 is for n words of 8 bytes.
func swap8(n int) write {
	if n == 1 {
		return func(to, value []byte) ([]byte, error) {
			if len(value) != 8 {
				return to, wrong(8, value)
			}
			return binary.LittleEndian.AppendUint64(to, binary.BigEndian.Uint64(value)), nil
		}
	}
	return func(to, value []byte) ([]byte, error) {
		if len(value) != 8*n {
			return to, wrong(8*n, value)
		}
		for i := range n {
			to = binary.LittleEndian.AppendUint64(to, binary.BigEndian.Uint64(value[8*i:]))
		}
		return to, nil
	}
}

func boolean(to, value []byte) ([]byte, error) {
	if len(value) != 1 || value[0] > 1 {
		return to, malformed("a bool", value)
	}
	return append(to, value[0]), nil
}

// name is up to 63 bytes of text, stored with zeros up to 64.
func name(to, value []byte) ([]byte, error) {
	var stored [64]byte
	if len(value) >= len(stored) {
		return to, malformed("a name", value)
	}
	copy(stored[:], value)
	return append(to, stored[:]...), nil
}

// tid is a block, stored as two halves, the upper one first, and a number in it
// (storage/itemptr.h).
func tid(to, value []byte) ([]byte, error) {
	if len(value) != 6 {
		return to, wrong(6, value)
	}
	return append(to, value[1], value[0], value[3], value[2], value[5], value[4]), nil
}

// interval is microseconds, days and months (datatype/timestamp.h).
func interval(to, value []byte) ([]byte, error) {
	if len(value) != 16 {
		return to, wrong(16, value)
	}
	to = binary.LittleEndian.AppendUint64(to, binary.BigEndian.Uint64(value))
	to = binary.LittleEndian.AppendUint32(to, binary.BigEndian.Uint32(value[8:]))
	return binary.LittleEndian.AppendUint32(to, binary.BigEndian.Uint32(value[12:])), nil
}

// timetz is microseconds, and seconds west of Greenwich (utils/date.h).
func timetz(to, value []byte) ([]byte, error) {
	if len(value) != 12 {
		return to, wrong(12, value)
	}
	to = binary.LittleEndian.AppendUint64(to, binary.BigEndian.Uint64(value))
	return binary.LittleEndian.AppendUint32(to, binary.BigEndian.Uint32(value[8:])), nil
}

// inet is sent as family, bits, whether it is a cidr, the address's length and the address;
// the third and fourth are not stored (utils/inet.h).
func inet(to, value []byte) ([]byte, error) {
	if len(value) < 4 || len(value) != 4+int(value[3]) {
		return to, malformed("an inet", value)
	}
	v4 := value[0] == 2 && value[3] == 4 && value[1] <= 32
	v6 := value[0] == 3 && value[3] == 16 && value[1] <= 128
	if !v4 && !v6 {
		return to, malformed("an inet", value)
	}
	return append(append(to, value[:2]...), value[4:]...), nil
}

// bitString is the number of bits and their bytes (utils/varbit.h).
func bitString(to, value []byte) ([]byte, error) {
	if len(value) < 4 {
		return to, malformed("a bit string", value)
	}
	n := binary.BigEndian.Uint32(value)
	if uint64(len(value)-4) != (uint64(n)+7)/8 {
		return to, malformed("a bit string", value)
	}
	return append(binary.LittleEndian.AppendUint32(to, n), value[4:]...), nil
}

// label is for enums, which are sent as their labels.
func label(labels map[string]uint32) write {
	return func(to, value []byte) ([]byte, error) {
		n, ok := labels[string(value)]
		if !ok {
			return to, fmt.Errorf("%w: the enum has no label %q here", ErrUnfit, value)
		}
		return binary.LittleEndian.AppendUint32(to, n), nil
	}
}

// names are the names of the types with an encoder, in pg_catalog.
var names = map[uint32]string{
	16: "bool", 17: "bytea", 18: `"char"`, 19: "name", 20: "int8", 21: "int2", 23: "int4", 25: "text", 26: "oid", 27: "tid", 28: "xid",
	29: "cid", 114: "json", 600: "point", 601: "lseg", 603: "box", 628: "line", 650: "cidr", 700: "float4", 701: "float8", 718: "circle",
	774: "macaddr8", 790: "money", 829: "macaddr", 869: "inet", 1042: "bpchar", 1043: "varchar", 1082: "date", 1083: "time",
	1114: "timestamp", 1184: "timestamptz", 1186: "interval", 1266: "timetz", 1560: "bit", 1562: "varbit", 1700: "numeric", 2950: "uuid",
	3220: "pg_lsn", 5069: "xid8",
}

// SQLName returns the name of a type that has an encoder, as SQL writes it; "": it has none.
func SQLName(oid uint32) string {
	if e, ok := elements[oid]; ok {
		return SQLName(e) + "[]"
	}
	if names[oid] == "" {
		return ""
	}
	return "pg_catalog." + names[oid]
}
