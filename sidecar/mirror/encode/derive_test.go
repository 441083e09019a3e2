package encode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// derivable says of which types which forms are made, from what is stored, and how random values of
// them are sent.
var derivable = []struct {
	stored Type
	forms  []Type
	sent   func(r *rand.Rand) []byte
}{
	{Type{OID: bpcharOID}, []Type{{Form: BpcharKey}}, func(r *rand.Rand) []byte {
		return []byte(randomText(r, 200) + strings.Repeat(" ", r.IntN(3)*r.IntN(40)))
	}},
	{Type{OID: nameOID}, []Type{{Form: NameKey}}, func(r *rand.Rand) []byte { return []byte(randomText(r, 63)) }},
	{Type{OID: float4OID}, []Type{{Form: FloatKey}, {Form: FloatOrder}}, func(r *rand.Rand) []byte {
		return binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(randomFloat(r))))
	}},
	{Type{OID: float8OID}, []Type{{Form: FloatKey}, {Form: FloatOrder}}, func(r *rand.Rand) []byte {
		return binary.BigEndian.AppendUint64(nil, math.Float64bits(randomFloat(r)))
	}},
	{Type{OID: dateOID}, []Type{{Form: DateKey}}, func(r *rand.Rand) []byte {
		return binary.BigEndian.AppendUint32(nil, randomOf(r, r.Uint32(), math.MaxInt32, 1<<31, datesEnd, datesEnd-1, 0))
	}},
	{Type{OID: intervalOID}, []Type{{Form: IntervalKey}}, func(r *rand.Rand) []byte {
		b := binary.BigEndian.AppendUint64(nil, randomOf(r, r.Uint64(), 0, 1, math.MaxUint64, 1<<63, math.MaxInt64))
		b = binary.BigEndian.AppendUint32(b, randomOf(r, r.Uint32(), 0, 30, math.MaxUint32))
		return binary.BigEndian.AppendUint32(b, randomOf(r, r.Uint32(), 0, 1, math.MaxUint32))
	}},
	{Type{OID: numericOID}, []Type{{Form: NumericKey}, {Form: Scale}, {Form: Unscaled, Scale: 18}, {Form: Unscaled, Scale: 3}, {Form: Value}}, func(r *rand.Rand) []byte {
		if r.IntN(3) == 0 {
			return decimalSent(r, r.IntN(19), 6)
		}
		return numericSent(r)
	}},
}

func init() {
	for scale := range mostDecimals + 1 {
		forms := []Type{{Form: NumericKey}, {Form: Scale}, {Form: Value}, {Form: Unscaled, Scale: scale}, {Form: Decimal, Scale: scale}, {Form: Unscaled, Scale: min(scale+2, mostDecimals)}}
		derivable = append(derivable, struct {
			stored Type
			forms  []Type
			sent   func(r *rand.Rand) []byte
		}{Type{OID: numericOID, Form: Decimal, Scale: scale}, forms, func(r *rand.Rand) []byte { return decimalSent(r, scale, mostDecimals) }})
	}
}

func randomOf[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func randomText(r *rand.Rand, most int) string {
	b := make([]byte, r.IntN(most+1))
	for i := range b {
		b[i] = byte(randomOf(r, ' ', 'a', 'b', 'z'))
	}
	return string(b)
}

func randomFloat(r *rand.Rand) float64 {
	return randomOf(r, math.Float64frombits(r.Uint64()), r.NormFloat64(), 0, math.Copysign(0, -1), math.NaN(), -math.NaN(), math.Inf(1), math.Inf(-1))
}

// numericSent returns a numeric of any size, in numeric_send's form.
func numericSent(r *rand.Rand) []byte {
	if r.IntN(8) == 0 {
		return sentNumeric(0, randomOf[uint16](r, notANumb, plusInf, minusInf), 0)
	}
	digits := make([]uint16, r.IntN(8))
	for i := range digits {
		digits[i] = randomOf(r, uint16(r.IntN(10000)), 0, 9999)
	}
	weight := randomOf(r, r.IntN(5), -r.IntN(5), 63, 64, -64, -65, 100)
	return sentNumeric(weight, randomOf[uint16](r, positive, negative), randomOf(r, r.IntN(70), 4*len(digits)), digits...)
}

// decimalSent returns a numeric with that many decimals, and digits in all, or NaN.
func decimalSent(r *rand.Rand, scale, most int) []byte {
	if r.IntN(10) == 0 {
		return sentNumeric(0, notANumb, 0)
	}
	text := fmt.Sprintf("%0*d", mostDecimals+scale, r.Int64N(power10[1+r.IntN(max(most, scale))]))
	if r.IntN(10) == 0 {
		text = strings.Repeat("0", len(text))
	}
	text = text[len(text)-max(most, scale):]
	whole, decimals := text[:len(text)-scale], text[len(text)-scale:]
	whole = strings.Repeat("0", 3-(len(whole)+3)%4) + whole
	decimals += strings.Repeat("0", 3-(len(decimals)+3)%4)
	var digits []uint16
	for all := whole + decimals; all != ""; all = all[4:] {
		var d uint16
		_, _ = fmt.Sscan("1"+all[:4], &d)
		digits = append(digits, d-10000)
	}
	return sentNumeric(len(whole)/4-1, randomOf[uint16](r, positive, negative), scale, digits...)
}

func sentNumeric(weight int, sign uint16, scale int, digits ...uint16) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(digits)))
	b = binary.BigEndian.AppendUint16(b, uint16(int16(weight)))
	b = binary.BigEndian.AppendUint16(b, sign)
	b = binary.BigEndian.AppendUint16(b, uint16(scale))
	for _, d := range digits {
		b = binary.BigEndian.AppendUint16(b, d)
	}
	return b
}

// TestDerive: what is made of a stored value is what is made of the value as it is sent.
func TestDerive(t *testing.T) {
	for _, c := range derivable {
		for _, form := range c.forms {
			form.OID = c.stored.OID
			t.Run(fmt.Sprint(c.stored.OID, "/", c.stored.Form, c.stored.Scale, "/", form.Form, form.Scale), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, uint64(c.stored.OID)))
				d, err := Derive(c.stored, form.Form, form.Scale)
				if err != nil {
					t.Fatal(err)
				}
				stored, err := New(c.stored)
				if err != nil {
					t.Fatal(err)
				}
				wanted, err := New(form)
				if err != nil || d.Column() != wanted.Column() {
					t.Fatalf("column %+v, %v", d.Column(), err)
				}
				fit := 0
				for range 3000 {
					sent := c.sent(r)
					value, err := stored.Append(nil, sent)
					if err != nil {
						t.Fatalf("%x: %v", sent, err)
					}
					want, failed := wanted.Append([]byte("x"), sent)
					got, err := d.Append([]byte("x"), value)
					switch {
					case failed == nil && err == nil && bytes.Equal(want, got):
						fit++
					case failed != nil && errors.Is(err, ErrUnfit) == errors.Is(failed, ErrUnfit) && err != nil:
					default:
						t.Fatalf("%x, stored as %x:\n%x, %v, want\n%x, %v", sent, value, got, err, want, failed)
					}
				}
				if fit < 300 {
					t.Errorf("only %d values have the form", fit)
				}
			})
		}
	}
}

func TestNoDerivation(t *testing.T) {
	for _, c := range []struct {
		stored Type
		form   Form
		scale  int
	}{
		{Type{OID: 25}, BpcharKey, 0}, {Type{OID: 23}, FloatKey, 0}, {Type{OID: bpcharOID, Form: BpcharKey}, BpcharKey, 0}, {Type{OID: 3802}, Value, 0},
		{Type{OID: numericOID, Form: NumericKey}, Scale, 0}, {Type{OID: numericOID}, Decimal, 19}, {Type{OID: 23}, Value, 0},
	} {
		if _, err := Derive(c.stored, c.form, c.scale); !errors.Is(err, ErrNone) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}

// FuzzDerive: no bytes in place of a stored value end the program, or have another form's size.
func FuzzDerive(f *testing.F) {
	f.Add(uint8(6), []byte{7, 0, 0x80, 0})
	f.Fuzz(func(t *testing.T, which uint8, stored []byte) {
		c := derivable[int(which)%len(derivable)]
		for _, form := range c.forms {
			d, err := Derive(c.stored, form.Form, form.Scale)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := d.Append(nil, stored); err == nil && d.Column().Width > 0 && len(got) != d.Column().Width {
				t.Errorf("%d bytes", len(got))
			}
		}
	})
}
