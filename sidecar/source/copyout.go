package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"gpujoin/sidecar/mirror/pgout"
)

// A batch is handed on when it has this many bytes or rows: few enough that they are still
// in a core's cache when their columns are encoded.
const (
	batchBytes = 1 << 20
	batchRows  = 1 << 13
)

// mostBatch bounds one row: PostgreSQL's own bound of a row in COPY is 1 GB.
const mostBatch = 1<<30 + batchBytes

var copySignature = []byte("PGCOPY\n\xff\r\n\x00")

// copyReader is the writer to which a connection copies what COPY (FORMAT binary) sends. It
// finds the values and hands on batches. Messages may end anywhere, although the server
// ends them after a row.
type copyReader struct {
	columns int
	deliver func(*Batch) error

	batch   Batch
	parsed  int // bytes of batch.Data that are parsed
	started bool
	ended   bool
	rows    int64 // delivered
}

func newCopyReader(columns int, deliver func(*Batch) error) *copyReader {
	r := &copyReader{columns: columns, deliver: deliver}
	r.batch.Columns = columns
	r.batch.Data = make([]byte, 0, batchBytes+batchBytes/8)
	r.batch.Offsets = make([]uint32, 0, columns*batchRows)
	r.batch.Lengths = make([]int32, 0, columns*batchRows)
	return r
}

// Write takes bytes of the stream.
func (r *copyReader) Write(p []byte) (int, error) {
	if len(r.batch.Data)+len(p) > mostBatch {
		return 0, errStream.because("a row of more than 1 GB")
	}
	r.batch.Data = append(r.batch.Data, p...)
	if !r.started {
		if err := r.header(); err != nil || !r.started {
			return len(p), err
		}
	}
	for {
		ok, err := r.tuple()
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
	}
	if r.parsed >= batchBytes || r.batch.Rows >= batchRows {
		if err := r.flush(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// header parses the signature, the flags and the extension.
func (r *copyReader) header() error {
	d := r.batch.Data
	fixed := len(copySignature) + 8
	if len(d) < fixed {
		return nil
	}
	extension := binary.BigEndian.Uint32(d[fixed-4:])
	if !bytes.Equal(d[:len(copySignature)], copySignature) || binary.BigEndian.Uint32(d[fixed-8:])&0xffff0000 != 0 || extension > batchBytes {
		return errStream.because("a copy has no valid header")
	}
	if len(d) >= fixed+int(extension) {
		r.started, r.parsed = true, fixed+int(extension)
	}
	return nil
}

// tuple parses the next row. ok: there was a whole one.
func (r *copyReader) tuple() (ok bool, err error) {
	d, at := r.batch.Data, r.parsed
	if len(d)-at < 2 {
		return false, nil
	}
	n := int16(binary.BigEndian.Uint16(d[at:]))
	if r.ended || n == -1 {
		if r.ended || len(d)-at > 2 {
			return false, errStream.because("bytes follow the end of a copy")
		}
		r.ended, r.parsed = true, at+2
		return false, nil
	}
	if int(n) != r.columns {
		return false, errStream.because("a row of %d columns instead of %d", n, r.columns)
	}
	at += 2
	first := len(r.batch.Lengths)
	for range r.columns {
		if len(d)-at < 4 {
			return r.undo(first)
		}
		length := int32(binary.BigEndian.Uint32(d[at:]))
		at += 4
		if length < -1 {
			return false, errStream.because("a value of %d bytes", length)
		}
		if length > 0 && int(length) > len(d)-at {
			return r.undo(first)
		}
		r.batch.Offsets = append(r.batch.Offsets, uint32(at))
		r.batch.Lengths = append(r.batch.Lengths, length)
		at += max(int(length), 0)
	}
	r.batch.Rows++
	r.parsed = at
	return true, nil
}

// undo takes back the values of a row of which bytes are missing.
func (r *copyReader) undo(first int) (bool, error) {
	r.batch.Offsets, r.batch.Lengths = r.batch.Offsets[:first], r.batch.Lengths[:first]
	return false, nil
}

// flush delivers the rows that are parsed, and keeps the rest.
func (r *copyReader) flush() error {
	if r.batch.Rows > 0 {
		if err := r.deliver(&r.batch); err != nil {
			return err
		}
	}
	r.rows += int64(r.batch.Rows)
	rest := copy(r.batch.Data[:cap(r.batch.Data)], r.batch.Data[r.parsed:])
	r.batch.Data, r.parsed = r.batch.Data[:rest], 0
	r.batch.Offsets, r.batch.Lengths, r.batch.Rows = r.batch.Offsets[:0], r.batch.Lengths[:0], 0
	return nil
}

// finish delivers the last rows, after the stream has ended.
func (r *copyReader) finish() error {
	if !r.ended || r.parsed != len(r.batch.Data) {
		return errStream.because("a copy ended within a row")
	}
	return r.flush()
}

// Value returns the value of a column in a row: nil for NULL.
func (b *Batch) Value(row, column int) []byte {
	i := row*b.Columns + column
	n := b.Lengths[i]
	if n < 0 {
		return nil
	}
	at := b.Offsets[i]
	return b.Data[at : at+uint32(n) : at+uint32(n)]
}

// Row returns a row, valid until the next call.
func (b *Batch) Row(row int) Values {
	if cap(b.tuple) < b.Columns {
		b.tuple = make(Values, b.Columns)
	}
	t := b.tuple[:b.Columns]
	first := row * b.Columns
	offsets, lengths := b.Offsets[first:first+b.Columns], b.Lengths[first:first+b.Columns]
	for c := range t {
		n := lengths[c]
		if n < 0 {
			t[c] = pgout.Value{Kind: pgout.Null}
			continue
		}
		at := offsets[c]
		t[c] = pgout.Value{Kind: pgout.Binary, Data: b.Data[at : at+uint32(n) : at+uint32(n)]}
	}
	return t
}

// copyOf returns the statement that copies columns of a range of a table's pages: from page
// first to before page end; math.MaxUint32: all that follow.
func copyOf(t *Table, first, end uint32) string {
	var columns bytes.Buffer
	for i, at := range t.Published {
		if i > 0 {
			columns.WriteString(", ")
		}
		columns.WriteString(quoteIdentifier(t.Columns[at].Name))
	}
	condition := fmt.Sprintf("ctid >= '(%d,0)'", first)
	if end != math.MaxUint32 {
		condition += fmt.Sprintf(" AND ctid < '(%d,0)'", end)
	}
	return fmt.Sprintf("COPY (SELECT %s FROM ONLY %s WHERE %s) TO STDOUT (FORMAT binary)", columns.String(), t.Name, condition)
}
