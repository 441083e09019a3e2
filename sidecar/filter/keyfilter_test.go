package filter

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore"
	"gpujoin/shm"
)

// column makes a relation of one column of the given width, in segments of at
// most 100 rows. Every fifth row is NULL, with a key that must not be found.
func column(width int, keys []int64) *joincore.Relation {
	r := &joincore.Relation{Columns: []joincore.Column{{Kind: joincore.Fixed, Width: width, Align: width}}}
	for len(keys) > 0 {
		s := joincore.Segment{Columns: make([]joincore.Vector, 1)}
		v := &s.Columns[0]
		for len(keys) > 0 && s.Rows < 100 {
			key := keys[0]
			if s.Rows%8 == 0 {
				v.Validity = append(v.Validity, 0)
			}
			if s.Rows%5 == 4 {
				key = 99
			} else {
				v.Validity[s.Rows/8] |= 1 << (s.Rows % 8)
				keys = keys[1:]
			}
			v.Values = append(v.Values, binary.LittleEndian.AppendUint64(nil, uint64(key))[:width]...)
			s.Rows++
		}
		r.Segments = append(r.Segments, s)
	}
	return r
}

func never() bool { return false }

// dirty is an extent with the bytes of an earlier use.
func dirty(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = 0xff
	}
	return b
}

func TestFilters(t *testing.T) {
	for name, c := range map[string]struct {
		width, n    int
		first, step int64
		size        int
		want        shm.FilterKind
		passes      float64 // at most, of other keys in the range
	}{
		"one key":                      {8, 1, 7, 1, 4096, shm.FilterBitmap, 0},
		"one byte":                     {1, 100, -100, 2, 4096, shm.FilterBitmap, 0},
		"two bytes":                    {2, 1000, -32768, 31, 1 << 20, shm.FilterBitmap, 0},
		"dense":                        {4, 5000, -1000, 1, 1 << 20, shm.FilterBitmap, 0},
		"sparse":                       {8, 5000, 1 << 40, 1e9, 1 << 20, shm.FilterBloom, 0.03},
		"the whole range":              {8, 2, math.MinInt64, math.MaxInt64, 1 << 20, shm.FilterBloom, 0.03},
		"too wide for a bitmap":        {8, 200, 0, 100, 1024, shm.FilterBloom, 0.03},
		"fewer bits per key":           {8, 1000, 0, 1e9, 1024, shm.FilterBloom, 0.25},
		"sparser than a bitmap's gain": {8, 5000, 0, 5000, 4 << 20, shm.FilterBloom, 0.03},
	} {
		t.Run(name, func(t *testing.T) {
			keys := make([]int64, c.n)
			has := map[int64]bool{}
			for i := range keys {
				keys[i] = c.first + int64(i)*c.step
				has[keys[i]] = true
			}
			extent := dirty(c.size)
			h, err := Make(extent, column(c.width, keys), 0, 42, never)
			if err != nil {
				t.Fatal(err)
			}
			v, err := shm.ReadFilter(extent)
			if err != nil {
				t.Fatal(err)
			}
			if v.Header != h || shm.FilterKind(h.Kind) != c.want || h.Keys != uint64(c.n) || h.Min != keys[0] || h.Max != keys[c.n-1] {
				t.Errorf("%+v, written as %+v", h, v.Header)
			}
			for _, k := range keys {
				if !v.Test(k) {
					t.Fatalf("%d does not pass", k)
				}
			}
			r := rand.New(rand.NewPCG(1, 2))
			others, passed := 0, 0
			for range 20000 {
				k := h.Min + int64(r.Uint64N(max(1, uint64(h.Max)-uint64(h.Min))))
				if !has[k] {
					others++
					if v.Test(k) {
						passed++
					}
				}
			}
			if float64(passed) > c.passes*float64(others) {
				t.Errorf("%d of %d other keys pass", passed, others)
			}
		})
	}
}

func TestNoKeys(t *testing.T) {
	null := joincore.Segment{Rows: 3, Columns: []joincore.Vector{{Values: make([]byte, 24), Validity: []byte{0}}}}
	for _, segments := range [][]joincore.Segment{nil, {null}} {
		r := column(8, nil)
		r.Segments = segments
		extent := dirty(4096)
		if _, err := Make(extent, r, 0, 1, never); err != nil {
			t.Fatal(err)
		}
		v, err := shm.ReadFilter(extent)
		if err != nil {
			t.Fatal(err)
		}
		if v.Header.Keys != 0 || v.Test(0) || v.Test(math.MaxInt64) {
			t.Errorf("%+v", v.Header)
		}
	}
}

func TestNoFilter(t *testing.T) {
	keys := make([]int64, 20000)
	for i := range keys {
		keys[i] = int64(i) << 20
	}
	if _, err := Make(dirty(4096), column(8, keys), 0, 1, never); !errors.Is(err, ErrTooManyKeys) {
		t.Errorf("20000 keys in 4 kB: %v", err)
	}
	if _, err := Make(dirty(1<<20), column(8, keys), 0, 1, func() bool { return true }); !errors.Is(err, ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
}

// TestChoose: no count and no range leads out of the extent.
func TestChoose(t *testing.T) {
	edges := []uint64{0, 1, 63, 64, 1 << 20, 1<<32 - 1, 1 << 32, 1 << 60, math.MaxUint64}
	for _, keys := range edges[1:] {
		for _, span := range edges {
			for _, room := range []uint64{0, 8, 100, 1<<20 - 64, 1<<30 - 64} {
				kind, bytes, err := choose(keys, span, room)
				if err != nil {
					continue
				}
				if bytes > room || bytes%8 != 0 || bytes == 0 {
					t.Errorf("%d bytes of %d for %d keys", bytes, room, keys)
				}
				if kind == shm.FilterBitmap && span/8 >= bytes {
					t.Errorf("%d bytes for a range of %d", bytes, span)
				}
			}
		}
	}
}
