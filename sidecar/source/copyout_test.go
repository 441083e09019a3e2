package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// copied is a stream of COPY (FORMAT binary) of rows; nil values are NULL.
func copied(rows [][][]byte) []byte {
	b := append([]byte(nil), copySignature...)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 2, 'e', 'x')
	for _, row := range rows {
		b = binary.BigEndian.AppendUint16(b, uint16(len(row)))
		for _, v := range row {
			if v == nil {
				b = binary.BigEndian.AppendUint32(b, 0xffffffff)
				continue
			}
			b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
			b = append(b, v...)
		}
	}
	return binary.BigEndian.AppendUint16(b, 0xffff)
}

// collect returns a deliver function and the rows that it has got, as text.
func collect() (func(*Batch) error, *[]string) {
	var got []string
	return func(b *Batch) error {
		for r := range b.Rows {
			text := ""
			for c, v := range b.Row(r) {
				if !bytes.Equal(v.Data, b.Value(r, c)) {
					return errors.New("Row and Value differ")
				}
				text += fmt.Sprintf("%q %t ", v.Data, b.Value(r, c) == nil)
			}
			got = append(got, text)
		}
		return nil
	}, &got
}

// Rows are found wherever the stream is divided.
func TestCopyDividedAnywhere(t *testing.T) {
	rows := [][][]byte{{[]byte("abc"), nil}, {{}, []byte("x")}, {nil, nil}, {bytes.Repeat([]byte("y"), 300), []byte("z")}}
	stream := copied(rows)
	deliver, want := collect()
	whole := newCopyReader(2, deliver)
	if _, err := whole.Write(stream); err != nil {
		t.Fatal(err)
	}
	if err := whole.finish(); err != nil || len(*want) != 4 || whole.rows != 4 {
		t.Fatalf("%v, %q", err, *want)
	}
	for step := 1; step < 40; step++ {
		deliver, got := collect()
		r := newCopyReader(2, deliver)
		for part := range slices.Chunk(stream, step) {
			if _, err := r.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.finish(); err != nil || !slices.Equal(*got, *want) {
			t.Fatalf("step %d: %v, %q", step, err, *got)
		}
	}
}

// Many rows come in batches of bounded size, and none is lost at their borders.
func TestCopyBatches(t *testing.T) {
	var rows [][][]byte
	for i := range 3 * batchRows {
		rows = append(rows, [][]byte{binary.BigEndian.AppendUint32(nil, uint32(i)), bytes.Repeat([]byte("v"), i%200)})
	}
	next, batches := 0, 0
	r := newCopyReader(2, func(b *Batch) error {
		batches++
		// The last write of a batch may bring more rows than it needed.
		if b.Rows > batchRows+batchRows/2 || len(b.Data) > 2*batchBytes {
			return fmt.Errorf("a batch of %d rows, %d bytes", b.Rows, len(b.Data))
		}
		for i := range b.Rows {
			if n := binary.BigEndian.Uint32(b.Value(i, 0)); int(n) != next || len(b.Value(i, 1)) != next%200 {
				return fmt.Errorf("row %d instead of %d", n, next)
			}
			next++
		}
		return nil
	})
	for part := range slices.Chunk(copied(rows), 8000) {
		if _, err := r.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.finish(); err != nil || next != len(rows) || batches < 3 {
		t.Errorf("%v, %d rows, %d batches", err, next, batches)
	}
}

// Streams that are not valid are refused, and so are those that end early.
func TestCopyMalformed(t *testing.T) {
	good := copied([][][]byte{{[]byte("abc"), nil}})
	at := len(copySignature) + 10
	change := func(f func(b []byte) []byte) []byte { return f(slices.Clone(good)) }
	for name, stream := range map[string][]byte{
		"signature":      change(func(b []byte) []byte { b[0] = 'X'; return b }),
		"critical flags": change(func(b []byte) []byte { b[len(copySignature)] = 1; return b }),
		"long extension": change(func(b []byte) []byte { b[len(copySignature)+4] = 0x7f; return b }),
		"columns":        change(func(b []byte) []byte { b[at+1] = 3; return b }),
		"length":         change(func(b []byte) []byte { b[at+2], b[at+5] = 0xff, 0; return b }),
		"no end":         good[:len(good)-2],
		"cut":            good[:len(good)-3],
		"empty":          nil,
		"more":           append(slices.Clone(good), 0, 1),
	} {
		deliver, _ := collect()
		r := newCopyReader(2, deliver)
		_, err := r.Write(stream)
		err = errors.Join(err, r.finish())
		if !errors.Is(err, errStream) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever arrives, values lie within what has arrived.
func FuzzCopy(f *testing.F) {
	f.Add(copied([][][]byte{{[]byte("abc"), nil}, {{}, []byte("x")}}), 7)
	f.Add([]byte("PGCOPY"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, step int) {
		deliver, _ := collect()
		r := newCopyReader(2, deliver)
		for part := range slices.Chunk(stream, max(step, 1)) {
			if _, err := r.Write(part); err != nil {
				return
			}
		}
		if err := r.finish(); err != nil && !errors.Is(err, errStream) {
			t.Error(err)
		}
	})
}
