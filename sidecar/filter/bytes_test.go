package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/shm"
)

// text is a varlena value with the shorter header that is possible.
func text(s string) []byte {
	if len(s) < 126 {
		return pad(append([]byte{byte(len(s)+1)<<1 | 1}, s...))
	}
	return pad(append(binary.LittleEndian.AppendUint32(nil, uint32(len(s)+4)<<2), s...))
}

func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }

// texts makes a column of values in segments of at most 100 rows. Every fifth row
// is NULL; its value, if it is not empty, is malformed.
func texts(values ...[]byte) *joincore.Relation {
	r := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Varlena, Align: 4}}}
	for len(values) > 0 {
		s := joincore.Segment{Columns: []joincore.Vector{{Values: make([]byte, 4)}}}
		v := &s.Columns[0]
		for len(values) > 0 && s.Rows < 100 {
			if s.Rows%8 == 0 {
				v.Validity = append(v.Validity, 0)
			}
			if s.Rows%5 == 4 {
				v.Heap = append(v.Heap, make([]byte, s.Rows%2*4)...)
			} else {
				v.Validity[s.Rows/8] |= 1 << (s.Rows % 8)
				v.Heap = append(v.Heap, values[0]...)
				values = values[1:]
			}
			v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(len(v.Heap)))
			s.Rows++
		}
		r.Segments = append(r.Segments, s)
	}
	return r
}

func TestFilterOfTexts(t *testing.T) {
	for name, n := range map[string]int{"one": 1, "some": 250, "many": 20000} {
		var values [][]byte
		keys := []string{"", "a", strings.Repeat("long", 5000)}
		for i := range n {
			keys = append(keys, fmt.Sprintf("customer#%09d", i))
		}
		for _, k := range keys {
			values = append(values, text(k))
		}
		extent := dirty(1 << 20)
		h, err := Make(extent, texts(values...), 0, 42, never)
		if err != nil {
			t.Fatal(err)
		}
		v, err := shm.ReadFilter(extent)
		if err != nil {
			t.Fatal(err)
		}
		if v.Header != h || shm.FilterKind(h.Kind) != shm.FilterBloomBytes || h.Keys != uint64(len(keys)) {
			t.Errorf("%s: %+v, written as %+v", name, h, v.Header)
		}
		for _, k := range keys {
			if !v.Test(shm.HashBytes([]byte(k))) {
				t.Errorf("%s: %q does not pass", name, k)
			}
		}
		passed := 0
		for i := range 20000 {
			if v.Test(shm.HashBytes(fmt.Appendf(nil, "customer#%09d", n+i))) {
				passed++
			}
		}
		if passed > 20000*3/100 {
			t.Errorf("%s: %d of 20000 other keys pass", name, passed)
		}
	}
}

// Values of 16 bytes that differ in one byte only.
func TestFilterOfWideValues(t *testing.T) {
	r := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Fixed, Width: 16, Align: 8}}}
	s := joincore.Segment{Rows: 8, Columns: make([]joincore.Vector, 1)}
	for i := range 8 {
		value := make([]byte, 16)
		value[2*i] = 1
		s.Columns[0].Values = append(s.Columns[0].Values, value...)
	}
	r.Segments = append(r.Segments, s)
	extent := dirty(4096)
	h, err := Make(extent, r, 0, 7, never)
	if err != nil || h.Keys != 8 {
		t.Fatal(h, err)
	}
	v, err := shm.ReadFilter(extent)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		value := make([]byte, 16)
		value[i] = 1
		if passes := v.Test(shm.HashBytes(value)); i%2 == 0 && !passes {
			t.Errorf("value %d does not pass", i)
		}
	}
}

func TestNoFilterOfTexts(t *testing.T) {
	good := text("a")
	for name, c := range map[string]struct {
		values [][]byte
		size   int
		stop   func() bool
		want   error
	}{
		"too many":                   {make([][]byte, 20000), 4096, never, ErrTooManyKeys},
		"stopped":                    {[][]byte{good}, 4096, func() bool { return true }, ErrStopped},
		"empty":                      {[][]byte{good, {}}, 4096, never, ErrMalformed},
		"chained":                    {[][]byte{{1, 'G', 0, 0}}, 4096, never, ErrMalformed},
		"longer than its span":       {[][]byte{{9<<1 | 1, 'a', 0, 0}}, 4096, never, ErrMalformed},
		"shorter than a long header": {[][]byte{{3 << 2, 0, 0, 0}}, 4096, never, ErrMalformed},
		"compressed":                 {[][]byte{{4<<2 | 2, 0, 0, 0}}, 4096, never, ErrMalformed},
	} {
		if _, err := Make(dirty(c.size), texts(c.values...), 0, 1, c.stop); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	extent := dirty(4096)
	if _, err := Make(extent, texts(), 0, 1, never); err != nil {
		t.Fatal(err)
	}
	if v, err := shm.ReadFilter(extent); err != nil || v.Header.Keys != 0 || v.Test(0) {
		t.Errorf("%v, %v", v, err)
	}

	// Offsets beyond the heap and in the wrong order.
	r := texts(good, good)
	binary.LittleEndian.PutUint32(r.Segments[0].Columns[0].Values, 1<<31)
	binary.LittleEndian.PutUint32(r.Segments[0].Columns[0].Values[8:], 1<<32-1)
	if _, err := Make(dirty(4096), r, 0, 1, never); !errors.Is(err, ErrMalformed) {
		t.Errorf("offsets out of bounds: %v", err)
	}
}
