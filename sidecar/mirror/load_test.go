package mirror

import (
	"encoding/binary"
	"errors"
	"sync"
	"testing"

	"gpujoin/joincore"
)

// A batch that is not what it should be fails the load, and writes nowhere but to the table.
func TestBatchesThatAreRefused(t *testing.T) {
	offset := func(v *Values, at int, to uint32) { binary.LittleEndian.PutUint32(v.Values[4*at:], to) }
	for _, c := range []struct {
		name string
		harm func(columns []Values) []Values
		rows int
	}{
		{"offsets that decrease", func(c []Values) []Values { offset(&c[1], 5, 0); return c }, 0},
		{"offsets beyond the heap", func(c []Values) []Values { offset(&c[1], 5, 1<<30); return c }, 0},
		{"a first offset beyond the others", func(c []Values) []Values { offset(&c[1], 0, 1<<31); return c }, 0},
		{"a last offset beyond the heap", func(c []Values) []Values { offset(&c[1], 20, 1<<31); return c }, 0},
		{"more rows than values", func(c []Values) []Values { return c }, 21},
		{"a negative number of rows", func(c []Values) []Values { return c }, -1},
		{"a column less", func(c []Values) []Values { return c[:2] }, 20},
		{"a NULL in a column without", func(c []Values) []Values { c[0].Validity = []byte{0xff, 0xfe, 0xff}; return c }, 20},
		{"a bitmap that is too short", func(c []Values) []Values { c[2].Validity = []byte{0xff}; return c }, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			memory := &heap{size: 4096}
			s := New(memory, Options{})
			l, err := s.Begin(testTable(1))
			if err != nil {
				t.Fatal(err)
			}
			n, columns := batchOf(recordsOf(0, 20, 0)...)
			if c.rows != 0 {
				n = c.rows
			}
			if err := l.Batch(n, c.harm(columns)); !errors.Is(err, ErrInconsistent) {
				t.Errorf("error %v", err)
			}
			if extents, besides := s.Bytes(); memory.live != 0 || extents != 0 || besides != 0 {
				t.Errorf("%d extents of %d bytes, and %d bytes beside them are left", memory.live, extents, besides)
			}
		})
	}
}

func TestTablesThatAreRefused(t *testing.T) {
	s := New(&heap{size: 4096}, Options{})
	noKey, odd, wide, outside := testTable(1), testTable(1), testTable(1), testTable(1)
	noKey.Key, outside.Key = nil, []int{3}
	odd.Columns[2].Physical.Width = 3
	for range 64 {
		wide.Columns = append(wide.Columns, Column{Name: "wide", Physical: joincore.Column{Kind: joincore.Fixed, Width: 64, Align: 8}})
	}
	for _, table := range []*Table{noKey, odd} {
		if _, err := s.Begin(table); !errors.Is(err, joincore.ErrUnsupported) {
			t.Errorf("error %v", err)
		}
	}
	if _, err := s.Begin(outside); !errors.Is(err, joincore.ErrInvalid) {
		t.Errorf("error %v", err)
	}
	if extents, besides := s.Bytes(); extents != 0 || besides != 0 {
		t.Errorf("%d and %d bytes are left", extents, besides)
	}
	if _, err := s.Begin(wide); err != nil { // each column has arrays of its own
		t.Error(err)
	}
	if _, err := New(&heap{size: 256}, Options{}).Begin(wide); !errors.Is(err, ErrTooLong) {
		t.Errorf("error %v", err)
	}
}

// Loaders on several goroutines add batches of different rows.
func TestParallelLoaders(t *testing.T) {
	s := New(&heap{size: 4096}, Options{})
	l, err := s.Begin(testTable(1))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for loader := range int64(4) {
		all.Go(func() {
			for from := loader * 500; from < loader*500+500; from += 50 {
				n, columns := batchOf(recordsOf(from, from+50, 0)...)
				if err := l.Batch(n, columns); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := l.Join(0); err != nil {
		t.Fatal(err)
	}
	p := s.Pin()
	defer p.Close()
	wantRows(t, p, 1, recordsOf(0, 2000, 0)...)
}
