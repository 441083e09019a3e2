package encode

import (
	"encoding/binary"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/sidecar/mirror/pgout"
)

// State says what a row has of a column.
type State uint8

// States.
const (
	Null      State = iota
	Present         // the field's bytes
	Unchanged       // the old version's value: a long one that the update has not changed
)

// Field is the value of a column in a row.
type Field struct {
	State    State
	From, To uint32 // its bytes in Row.Data, as Encoder.Append writes them
}

// Row is an encoded row, or the encoded key of one.
type Row struct {
	Data   []byte
	Fields []Field
}

// Bytes returns the bytes of a field.
func (r *Row) Bytes(i int) []byte { return r.Data[r.Fields[i].From:r.Fields[i].To] }

// Source says where the values of a column come from. A value that is wanted in several forms
// is the source of several columns.
type Source struct {
	Encoder *Encoder
	From    int // its position in the tuple
}

// Columns are the columns of a row.
type Columns []Source

// Row encodes a tuple into the memory of an earlier row. The error names the position of the
// value and wraps ErrMalformed or ErrUnfit.
func (c Columns) Row(row *Row, t pgout.Tuple) error {
	data, fields := row.Data[:0], row.Fields[:0]
	for i := range c {
		from := uint32(len(data))
		state, err := c[i].state(t)
		if err == nil && state == Present {
			data, err = c[i].Encoder.Append(data, t[c[i].From].Data)
		}
		if err != nil {
			return fmt.Errorf("value %d of a row: %w", c[i].From, err)
		}
		fields = append(fields, Field{state, from, uint32(len(data))})
	}
	row.Data, row.Fields = data, fields
	return nil
}

// state returns what a tuple has of a column.
func (s *Source) state(t pgout.Tuple) (State, error) {
	if s.From >= len(t) {
		return 0, fmt.Errorf("%w: the row has only %d values", ErrMalformed, len(t))
	}
	switch t[s.From].Kind {
	case pgout.Null:
		return Null, nil
	case pgout.Binary:
		return Present, nil
	case pgout.Unchanged:
		return Unchanged, nil
	}
	return 0, fmt.Errorf("%w: it is sent as text", ErrMalformed)
}

// Batch collects rows as columns.
type Batch struct {
	Rows    int
	Vectors []joincore.Vector // of the rows; valid until the next call
	columns Columns
}

// NewBatch returns an empty batch.
func NewBatch(c Columns) *Batch {
	b := &Batch{columns: c, Vectors: make([]joincore.Vector, len(c))}
	b.Reset()
	return b
}

// Reset makes the batch empty. It keeps its memory.
func (b *Batch) Reset() {
	b.Rows = 0
	for i := range b.Vectors {
		v := &b.Vectors[i]
		v.Values, v.Heap, v.Validity = v.Values[:0], v.Heap[:0], nil
		if b.columns[i].Encoder.column.Kind == joincore.Varlena {
			v.Values = append(v.Values, 0, 0, 0, 0)
		}
	}
}

// Add encodes a row. The error is like that of Columns.Row, also for a value of the state
// Unchanged; the batch is of no use after it.
func (b *Batch) Add(t pgout.Tuple) error {
	for i := range b.columns {
		c, v := &b.columns[i], &b.Vectors[i]
		state, err := c.state(t)
		if err == nil && state == Unchanged {
			err = fmt.Errorf("%w: it is missing", ErrMalformed)
		}
		column := c.Encoder.column
		switch {
		case err != nil:
		case column.Kind == joincore.Varlena:
			if state == Present {
				v.Heap, err = c.Encoder.Append(v.Heap, t[c.From].Data)
			}
			v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(len(v.Heap)))
		case state == Present:
			v.Values, err = c.Encoder.Append(v.Values, t[c.From].Data)
		default:
			v.Values = append(v.Values, make([]byte, column.Width)...)
		}
		if err != nil {
			return fmt.Errorf("value %d of a row: %w", c.From, err)
		}
		b.mark(v, state == Present)
	}
	b.Rows++
	return nil
}

// mark appends a bit of a validity bitmap, which begins with the first NULL.
func (b *Batch) mark(v *joincore.Vector, present bool) {
	if v.Validity == nil {
		if present {
			return
		}
		v.Validity = make([]byte, b.Rows/8+1)
		for i := range v.Validity {
			v.Validity[i] = 0xff
		}
	}
	if b.Rows/8 == len(v.Validity) {
		v.Validity = append(v.Validity, 0xff)
	}
	if !present {
		v.Validity[b.Rows/8] &^= 1 << (b.Rows % 8)
	}
}
