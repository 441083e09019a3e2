package encode

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gpujoin/joincore"
)

// unhex reads hexadecimal digits; spaces are for people, and "text" stands for itself.
func unhex(t testing.TB, s string) (out []byte) {
	t.Helper()
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 1 {
			out = append(out, part...)
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(part, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

var fixed1, fixed2, fixed4, fixed8 = fixedOf(1), fixedOf(2), fixedOf(4), fixedOf(8)

func fixedOf(width int) joincore.Column {
	return joincore.Column{Kind: joincore.Fixed, Width: width, Align: min(width, 8)}
}

func varlena(align int) joincore.Column {
	return joincore.Column{Kind: joincore.Varlena, Align: align}
}

// encoders says which types have an encoder in which form, and gives values: as they are sent,
// and as they are stored.
var encoders = []struct {
	name   string
	t      Type
	column joincore.Column
	values [][2]string
}{
	{"bool", Type{OID: 16}, fixed1, [][2]string{{"00", "00"}, {"01", "01"}}},
	{`"char"`, Type{OID: 18}, fixed1, [][2]string{{"80", "80"}}},
	{"int2", Type{OID: 21}, fixed2, [][2]string{{"fffe", "feff"}}},
	{"int4", Type{OID: 23}, fixed4, [][2]string{{"01020304", "04030201"}, {"ffffffff", "ffffffff"}}},
	{"oid", Type{OID: 26}, fixed4, [][2]string{{"01020304", "04030201"}}},
	{"xid", Type{OID: 28}, fixed4, [][2]string{{"01020304", "04030201"}}},
	{"cid", Type{OID: 29}, fixed4, [][2]string{{"01020304", "04030201"}}},
	{"int8", Type{OID: 20}, fixed8, [][2]string{{"0102030405060708", "0807060504030201"}}},
	{"float4", Type{OID: 700}, fixed4, [][2]string{{"3f800000", "0000803f"}}},
	{"float8", Type{OID: 701}, fixed8, [][2]string{{"3ff0000000000000", "000000000000f03f"}}},
	{"money", Type{OID: 790}, fixed8, [][2]string{{"00000000000004d2", "d204000000000000"}}},
	{"date", Type{OID: 1082}, fixed4, [][2]string{{"0000000a", "0a000000"}}},
	{"time", Type{OID: 1083}, fixed8, [][2]string{{"0102030405060708", "0807060504030201"}}},
	{"timestamp", Type{OID: 1114}, fixed8, [][2]string{{"8000000000000000", "0000000000000080"}}},
	{"timestamptz", Type{OID: 1184}, fixed8, [][2]string{{"7fffffffffffffff", "ffffffffffffff7f"}}},
	{"pg_lsn", Type{OID: 3220}, fixed8, [][2]string{{"00000000016b3748", "48376b0100000000"}}},
	{"xid8", Type{OID: 5069}, fixed8, [][2]string{{"0000000000000001", "0100000000000000"}}},
	{"macaddr8", Type{OID: 774}, fixed8, [][2]string{{"08002bfffe010203", "08002bfffe010203"}}},
	{"macaddr", Type{OID: 829}, fixed8, [][2]string{{"08002b010203", "08002b010203 0000"}}},
	{"tid", Type{OID: 27}, fixed8, [][2]string{{"00010002 0003", "0100 0200 0300 0000"}}},
	{"timetz", Type{OID: 1266}, fixedOf(16), [][2]string{{"0000000000000102 fffff1f0", "0201000000000000 f0f1ffff 00000000"}}},
	{"interval", Type{OID: 1186}, fixedOf(16), [][2]string{{"0000000000000102 00000003 00000004", "0201000000000000 03000000 04000000"}}},
	{"uuid", Type{OID: 2950}, fixedOf(16), [][2]string{{"a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"}}},
	{"point", Type{OID: 600}, fixedOf(16), [][2]string{{"3ff0000000000000 bff0000000000000", "000000000000f03f 000000000000f0bf"}}},
	{"lseg", Type{OID: 601}, fixedOf(32), [][2]string{{strings.Repeat("3ff0000000000000", 4), strings.Repeat("000000000000f03f", 4)}}},
	{"box", Type{OID: 603}, fixedOf(32), [][2]string{{strings.Repeat("3ff0000000000000", 4), strings.Repeat("000000000000f03f", 4)}}},
	{"line", Type{OID: 628}, fixedOf(24), [][2]string{{strings.Repeat("3ff0000000000000", 3), strings.Repeat("000000000000f03f", 3)}}},
	{"circle", Type{OID: 718}, fixedOf(24), [][2]string{{strings.Repeat("3ff0000000000000", 3), strings.Repeat("000000000000f03f", 3)}}},
	{"name", Type{OID: 19}, fixedOf(64), [][2]string{{`"abc"`, `"abc"` + strings.Repeat("00", 61)}}},
	{"enum", Type{OID: 16400, Labels: map[string]uint32{"sad": 16402}}, fixed4, [][2]string{{`"sad"`, "12400000"}}},

	{"text", Type{OID: 25}, varlena(4), [][2]string{
		{"", "03 000000"}, {`"abc"`, `09 "abc"`}, {`"abcd"`, `0b "abcd" 000000`},
		{`"` + strings.Repeat("x", 126) + `"`, `ff "` + strings.Repeat("x", 126) + `" 00`},
		{`"` + strings.Repeat("x", 127) + `"`, `0c020000 "` + strings.Repeat("x", 127) + `" 00`},
	}},
	{"varchar", Type{OID: 1043}, varlena(4), [][2]string{{`"abc"`, `09 "abc"`}}},
	{"char(n)", Type{OID: 1042}, varlena(4), [][2]string{{`"ab   "`, `0d "ab   " 0000`}}},
	{"json", Type{OID: 114}, varlena(4), [][2]string{{`"{}"`, `07 "{}" 00`}}},
	{"bytea", Type{OID: 17}, varlena(4), [][2]string{{"00ff00", "09 00ff00"}}},
	{"bit(n)", Type{OID: 1560}, varlena(4), [][2]string{{"0000000a ffc0", "0f 0a000000 ffc0 00"}}},
	{"varbit", Type{OID: 1562}, varlena(4), [][2]string{{"00000000", "0b 00000000 000000"}}},
	{"inet", Type{OID: 869}, varlena(4), [][2]string{
		{"02 18 00 04 c0a80001", "0f 02 18 c0a80001 00"},
		{"03 80 00 10 00112233445566778899aabbccddeeff", "27 03 80 00112233445566778899aabbccddeeff 00"},
	}},
	{"cidr", Type{OID: 650}, varlena(4), [][2]string{{"02 18 01 04 c0a80000", "0f 02 18 c0a80000 00"}}},
	{"numeric", Type{OID: 1700}, varlena(4), [][2]string{
		{"0000 0000 0000 0000", "07 0080 00"},                         // 0
		{"0000 0000 0000 0002", "07 0081 00"},                         // 0.00
		{"0002 0000 0000 0002 0001 1388", "0f 0081 0100 8813 00"},     // 1.50
		{"0001 ffff 4000 0001 03e8", "0b ffa0 e803 000000"},           // -0.1: scale 1, weight -1
		{"0001 0064 0000 0000 0001", "0f 0000 6400 0100 00"},          // 10000^100: the long form
		{"0001 0000 4000 0040 0001", "0f 4040 0000 0100 00"},          // -1 with 64 decimals
		{"0003 0001 0000 0000 0000 0007 0000", "0b 0080 0700 000000"}, // zeros around the digits
		{"0000 0000 c000 0000", "07 00c0 00"},                         // NaN
		{"0000 0000 d000 0020", "07 00d0 00"},                         // infinity
		{"0000 0000 f000 0020", "07 00f0 00"},
	}},
	{"numeric(p,2)", Type{OID: 1700, Form: Decimal, Scale: 2}, fixed8, [][2]string{
		{"0002 0000 0000 0002 0001 1388", "9600000000000000"},      // 1.50
		{"0003 0001 4000 0002 0001 0002 0bb8", "dabcf0ffffffffff"}, // -10002.30
		{"0000 0000 0000 0002", "0000000000000000"},
		{"0000 0000 c000 0000", "0000000000000080"}, // NaN
		{"0001 0003 0000 0002 270f", "00c0e996c05be00d"},
	}},
	{"numeric, scale 4", Type{OID: 1700, Form: Unscaled, Scale: 4}, fixed8, [][2]string{
		{"0002 0000 0000 0002 0001 1388", "983a000000000000"}, {"0001 0000 0000 0000 0001", "1027000000000000"},
	}},
	{"numeric's scale", Type{OID: 1700, Form: Scale}, fixed2, [][2]string{{"0002 0000 0000 0002 0001 1388", "0200"}, {"0000 0000 d000 0020", "0000"}}},
	{"numeric as a key", Type{OID: 1700, Form: NumericKey}, varlena(4), [][2]string{
		{"0001 0000 0000 0000 0007", "0f 0000 0000 0700 00"}, {"0001 0000 0000 0005 0007", "0f 0000 0000 0700 00"},
		{"0001 ffff 4000 0001 03e8", "0f 0100 ffff e803 00"}, {"0000 0000 c000 0000", "0b 00c0 0000 000000"},
	}},
	{"char(n) as a key", Type{OID: 1042, Form: BpcharKey}, varlena(4), [][2]string{{`"ab   "`, `07 "ab" 00`}, {`"  "`, "03 000000"}}},
	{"name as a key", Type{OID: 19, Form: NameKey}, varlena(4), [][2]string{{`"abc"`, `09 "abc"`}}},
	{"float4 as a key", Type{OID: 700, Form: FloatKey}, fixed8, [][2]string{
		{"3f800000", "000000000000f03f"}, {"80000000", "0000000000000000"}, {"7fc00001", "ffffffffffffff7f"}, {"ffc00000", "ffffffffffffff7f"},
	}},
	{"float8 as a key", Type{OID: 701, Form: FloatKey}, fixed8, [][2]string{{"bff0000000000000", "000000000000f0bf"}, {"8000000000000000", "0000000000000000"}}},
	{"float4 in order", Type{OID: 700, Form: FloatOrder}, fixed8, [][2]string{{"3f800000", "000000000000f03f"}, {"bf800000", "ffffffffffff0fc0"}}},
	{"float8 in order", Type{OID: 701, Form: FloatOrder}, fixed8, [][2]string{
		{"8000000000000000", "0000000000000080"}, {"0000000000000000", "0000000000000000"}, {"fff0000000000000", "ffffffffffff0f80"}, {"7ff8000000000000", "ffffffffffffff7f"},
	}},
	{"date as a timestamp", Type{OID: 1082, Form: DateKey}, fixed8, [][2]string{
		{"00000001", "0060d71d14000000"}, {"80000000", "0000000000000080"}, {"7fffffff", "ffffffffffffff7f"}, {"7ffffffe", "00a0b2b35bffff7f"},
	}},
	{"interval as a span", Type{OID: 1186, Form: IntervalKey}, fixedOf(16), [][2]string{
		{"0000000000000005 00000000 00000000", "0500000000000000 0000000000000000"},
		{"ffffffffffffffff 00000000 00000000", "ffffffffffffffff ffffffffffffffff"},
		{"0000000000000001 ffffffff 00000000", "01a028e2ebffffff ffffffffffffffff"},
		{"0000000000000000 0000001e 00000001", "00807afeb6040000 0000000000000000"},
	}},

	{"int4[]", Type{OID: 1007}, varlena(4), [][2]string{
		{"00000000 00000000 00000017", "1b 00000000 00000000 17000000 000000"},
		{"00000001 00000000 00000017 00000002 00000001 00000004 00000005 00000004 00000006", "3b 01000000 00000000 17000000 02000000 01000000 05000000 06000000 000000"},
		{"00000001 00000001 00000017 00000002 00000000 ffffffff 00000004 00000006", "43 01000000 20000000 17000000 02000000 00000000 02 00000000000000 06000000 000000"},
	}},
	{"text[]", Type{OID: 1009}, varlena(4), [][2]string{
		{`00000001 00000000 00000019 00000002 00000001 00000003 "abc" 00000000`, `43 01000000 00000000 19000000 02000000 01000000 1c000000 "abc" 00 10000000 000000`},
	}},
	{"numeric[]", Type{OID: 1231}, varlena(4), [][2]string{
		{"00000001 00000000 000006a4 00000001 00000001 0000000a 0001 0000 0000 0000 0007", "3b 01000000 00000000 a4060000 01000000 01000000 20000000 0080 0700 000000"},
	}},
	{"macaddr[]", Type{OID: 1040}, varlena(4), [][2]string{
		{"00000001 00000000 0000033d 00000001 00000001 00000006 08002b010203", "3b 01000000 00000000 3d030000 01000000 01000000 08002b010203 0000 000000"},
	}},
	{"int8[]", Type{OID: 1016}, varlena(8), [][2]string{
		{"00000001 00000000 00000014 00000001 00000001 00000008 0000000000000007", "3b 01000000 00000000 14000000 01000000 01000000 0700000000000000 000000"},
	}},
}

func TestEncode(t *testing.T) {
	for _, c := range encoders {
		t.Run(c.name, func(t *testing.T) {
			e, err := New(c.t)
			if err != nil {
				t.Fatal(err)
			}
			if e.Column() != c.column {
				t.Errorf("column %+v, want %+v", e.Column(), c.column)
			}
			for _, v := range c.values {
				sent, stored := unhex(t, v[0]), unhex(t, v[1])
				got, err := e.Append([]byte("before"), sent)
				if err != nil {
					t.Errorf("%x: %v", sent, err)
				} else if want := append([]byte("before"), stored...); !bytes.Equal(got, want) {
					t.Errorf("%x:\n%x, want\n%x", sent, got, want)
				}
				refuseParts(t, e, sent)
			}
		})
	}
}

// refuseParts checks that no part of a value is taken for something that breaks the column's
// form: what is taken has its width, or a header that agrees with its length.
func refuseParts(t *testing.T, e *Encoder, sent []byte) {
	t.Helper()
	for n := range len(sent) {
		got, err := e.Append(nil, sent[:n])
		switch {
		case errors.Is(err, ErrMalformed) || errors.Is(err, ErrUnfit):
		case err != nil:
			t.Errorf("error %v", err)
		case e.Column().Kind == joincore.Fixed:
			if len(got) != e.Column().Width {
				t.Errorf("%d bytes, width %d", len(got), e.Column().Width)
			}
		default:
			payload, err := joincore.TextPayload(got)
			if err != nil || joincore.TextSize(len(payload), e.Column().Align) != len(got) {
				t.Errorf("%x: payload of %d bytes, %v", got, len(payload), err)
			}
		}
	}
}

// Every type in the package's table, and the arrays of each, has an encoder; the table above has a
// value of each type.
func TestEveryTypeIsTested(t *testing.T) {
	tested := map[uint32]bool{}
	for _, c := range encoders {
		tested[c.t.OID] = true
	}
	arrays := map[uint32]bool{}
	for oid, of := range elements {
		arrays[of] = true
		if e, err := New(Type{OID: oid}); err != nil || e.Column().Kind != joincore.Varlena {
			t.Errorf("array type %d: %v", oid, err)
		}
	}
	for oid := range types {
		if !tested[oid] || !arrays[oid] {
			t.Errorf("type %d: tested %v, has arrays %v", oid, tested[oid], arrays[oid])
		}
		if SQLName(oid) == "" || names[oid] == "" {
			t.Errorf("type %d has no name", oid)
		}
	}
}

func TestNoEncoder(t *testing.T) {
	for _, typ := range []Type{
		{OID: 3802}, {OID: 142}, {OID: 602}, {OID: 604}, {OID: 3614}, {OID: 3904}, {OID: 2249}, {OID: 16400}, // jsonb, xml, path, polygon, tsvector, int4range, record, a type of the user's
		{OID: 23, Form: Decimal}, {OID: 25, Form: BpcharKey}, {OID: 1700, Form: Decimal, Scale: 19}, {OID: 1700, Form: Scale + 1}, {OID: 1700, Form: -1},
		{OID: 16400, Form: Scale, Labels: map[string]uint32{}},
	} {
		if _, err := New(typ); !errors.Is(err, ErrNone) {
			t.Errorf("%+v: error %v", typ, err)
		}
	}
}

func TestSQLName(t *testing.T) {
	for oid, want := range map[uint32]string{20: "pg_catalog.int8", 18: `pg_catalog."char"`, 1231: "pg_catalog.numeric[]", 3802: "", 16400: ""} {
		if got := SQLName(oid); got != want {
			t.Errorf("type %d is %q, want %q", oid, got, want)
		}
	}
}

func TestRefusedValues(t *testing.T) {
	for _, c := range []struct {
		t    Type
		sent string
		want error
	}{
		{Type{OID: 16}, "02", ErrMalformed},
		{Type{OID: 23}, "0102030405", ErrMalformed},
		{Type{OID: 19}, `"` + strings.Repeat("x", 64) + `"`, ErrMalformed},
		{Type{OID: 869}, "02 21 00 04 c0a80001", ErrMalformed}, // 33 bits
		{Type{OID: 869}, "04 18 00 04 c0a80001", ErrMalformed}, // no such family
		{Type{OID: 1560}, "00000009 ff", ErrMalformed},
		{Type{OID: 1700}, "0001 0000 0000 0000 2710", ErrMalformed}, // digit 10000
		{Type{OID: 1700}, "0001 0000 1000 0000 0001", ErrMalformed}, // no such sign
		{Type{OID: 1700, Form: Decimal, Scale: 2}, "0001 0000 0000 0003 0001", ErrUnfit},
		{Type{OID: 1700, Form: Decimal, Scale: 2}, "0001 0000 0000 0001 0001", ErrUnfit},
		{Type{OID: 1700, Form: Decimal, Scale: 2}, "0000 0000 d000 0000", ErrUnfit},
		{Type{OID: 1700, Form: Decimal, Scale: 2}, "0001 0004 0000 0002 0001", ErrUnfit}, // 10^16
		{Type{OID: 1700, Form: Decimal, Scale: 2}, "0001 7fff 0000 0002 0001", ErrUnfit},
		{Type{OID: 1700, Form: Decimal, Scale: 2}, "0001 ffff 0000 0002 0001", ErrMalformed}, // 0.0001
		{Type{OID: 16400, Labels: map[string]uint32{"sad": 1}}, `"ok"`, ErrUnfit},
		{Type{OID: 1007}, "00000007 00000000 00000017", ErrMalformed},
		{Type{OID: 1007}, "00000001 00000000 00000019 00000000 00000001", ErrMalformed}, // of text
		{Type{OID: 1007}, "00000002 00000000 00000017 80000000 00000001 80000000 00000001", ErrMalformed},
		{Type{OID: 1007}, "00000001 00000000 00000017 00000001 00000001 00000004 00000005 00", ErrMalformed},
		{Type{OID: 1007}, "00000001 00000000 00000017 00000001 00000001 fffffffe", ErrMalformed},
	} {
		e, err := New(c.t)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Append(nil, unhex(t, c.sent)); !errors.Is(err, c.want) {
			t.Errorf("%+v, %s: %x, error %v, want %v", c.t, c.sent, got, err, c.want)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct {
		name string
		t    Type
		sent string
	}{
		{"int8", Type{OID: 20}, "0102030405060708"},
		{"decimal", Type{OID: 1700, Form: Decimal, Scale: 2}, "0003 0001 0000 0002 0011 0e51 1af4"},
		{"numeric", Type{OID: 1700}, "0003 0001 0000 0002 0011 0e51 1af4"},
		{"text-33", Type{OID: 25}, `"nstructions sleep furiously among"`},
		{"int4[]", Type{OID: 1007}, "00000001 00000000 00000017 00000002 00000001 00000004 00000005 00000004 00000006"},
	} {
		b.Run(c.name, func(b *testing.B) {
			e, err := New(c.t)
			if err != nil {
				b.Fatal(err)
			}
			sent := unhex(b, c.sent)
			var to []byte
			b.ReportAllocs()
			for b.Loop() {
				if to, err = e.Append(to[:0], sent); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func ExampleNew() {
	e, err := New(Type{OID: 1700, Form: Decimal, Scale: 2})
	if err != nil {
		panic(err)
	}
	bytes, err := e.Append(nil, []byte{0, 2, 0, 0, 0, 0, 0, 2, 0, 1, 0x13, 0x88}) // 1.50
	fmt.Println(bytes, err)
	// Output: [150 0 0 0 0 0 0 0] <nil>
}
