// Package encode turns PostgreSQL's binary send format of a value into the bytes that the
// extension's feed writes of the same value (fdw/feed/encode.c, fdw/job/columns.c, fdw/numeric):
// integers and floats little-endian, short fixed values padded with zeros to the column's
// width, decimals scaled to an int64, and values of variable length as they are on disk,
// uncompressed, with the shortest header and zeros up to the alignment.
//
// Texts are taken as they are sent, so the connection's client_encoding has to be the encoding of the
// database that reads the mirror. testdata/stored.txt has values as a server sends and stores them.
package encode

import (
	"errors"
	"fmt"

	"gpujoin/joincore"
)

// Form is the representation of a value in a column: GjForm of fdw/job/job.h, with its numbers.
type Form int

// Forms that are fed. GJ_FORM_INTEGER is not: the daemon computes it.
const (
	Value       Form = iota // as it is on disk
	Decimal                 // numeric(p <= 18, s) as value * 10^s in an int64, NaN as the least
	NumericKey              // equal numerics, equal bytes
	BpcharKey               // char(n) without the blanks at its end
	NameKey                 // name as a varlena
	FloatKey                // equal floats, equal 8 bytes
	FloatOrder              // an int64 with the order of floats
	DateKey                 // date as the timestamp that equals it
	IntervalKey             // interval as its span in 16 bytes
	Unscaled                // numeric of any scale up to Type.Scale as value * 10^Scale in an int64
	Scale                   // numeric as its number of decimals, in an int16
)

// Type is a column's type and form.
type Type struct {
	OID    uint32            // of the type; of a domain: of its base type
	Form   Form              //
	Scale  int               // of Decimal and Unscaled
	Labels map[string]uint32 // of an enum: the number stored for each label; else nil
}

// Errors of New and of Append.
var (
	// ErrNone means that a type has no encoder in that form. The table is read directly then.
	ErrNone = errors.New("values of this type cannot be mirrored")
	// ErrMalformed means that bytes are no value of the type.
	ErrMalformed = errors.New("malformed value")
	// ErrUnfit means that a value has no representation in the form.
	ErrUnfit = errors.New("the value does not fit the form")
)

// write appends the bytes that a value has on disk, without a header and without padding.
type write func(to, value []byte) ([]byte, error)

// Encoder encodes the values of one column. It is safe for concurrent use.
type Encoder struct {
	column joincore.Column
	write  write // nil: the bytes are on disk as they are sent
	length int   // of fixed values, before padding
}

// New returns the encoder of a type in a form. The error wraps ErrNone.
func New(t Type) (*Encoder, error) {
	if t.Labels != nil {
		if t.Form != Value {
			return nil, none(t)
		}
		return fixed(4, label(t.Labels)), nil
	}
	if t.Form != Value {
		return newKey(t)
	}
	if e, ok := elements[t.OID]; ok {
		return newArray(e)
	}
	d, ok := types[t.OID]
	switch {
	case !ok:
		return nil, none(t)
	case d.length > 0:
		return fixed(d.length, d.write), nil
	}
	return variable(d.align, d.write), nil
}

func none(t Type) error {
	return fmt.Errorf("%w: type %d in form %d", ErrNone, t.OID, t.Form)
}

// fixed returns the encoder of values of a length: its width is the next one that columns have.
func fixed(length int, w write) *Encoder {
	width := length
	if length != 1 && length != 2 && length != 4 {
		width = (length + 7) / 8 * 8
	}
	return &Encoder{joincore.Column{Kind: joincore.Fixed, Width: width, Align: min(width, 8)}, w, length}
}

func variable(align int, w write) *Encoder {
	return &Encoder{joincore.Column{Kind: joincore.Varlena, Align: max(align, 4)}, w, 0}
}

// Column returns the physical type of the column.
func (e *Encoder) Column() joincore.Column { return e.column }

// Append appends the encoded value: Width bytes of a fixed column; of a varlena column header,
// payload and padding. `to` grows by append's rules, and is unspecified after an error. The
// error wraps ErrMalformed or ErrUnfit.
func (e *Encoder) Append(to, value []byte) ([]byte, error) {
	if e.column.Kind == joincore.Varlena {
		if e.write == nil {
			return appendText(to, value, e.column.Align), nil
		}
		return e.appendVariable(to, value)
	}
	from := len(to)
	to, err := e.write(to, value)
	if err != nil {
		return to, err
	}
	for len(to) < from+e.column.Width {
		to = append(to, 0)
	}
	return to, nil
}

// longHeader is the size of the longer of the two headers.
const longHeader = 4

// appendVariable appends a value whose length is known only when it has been written.
func (e *Encoder) appendVariable(to, value []byte) ([]byte, error) {
	from := len(to)
	to = append(to, 0, 0, 0, 0)
	to, err := e.write(to, value)
	if err != nil {
		return to, err
	}
	payload := to[from+longHeader:]
	size := joincore.TextSize(len(payload), e.column.Align)
	for len(to) < from+size {
		to = append(to, 0)
	}
	joincore.PutText(to[from:from+size], payload) // moves the payload down if its header is short
	return to[:from+size], nil
}

// appendText appends a value whose payload is sent as it is.
func appendText(to, payload []byte, align int) []byte {
	from, size := len(to), joincore.TextSize(len(payload), align)
	if cap(to)-from < size {
		to = append(to, make([]byte, size)...)
	} else {
		to = to[:from+size]
	}
	joincore.PutText(to[from:], payload)
	return to
}

func malformed(what string, value []byte) error {
	return fmt.Errorf("%w: %s of %d bytes", ErrMalformed, what, len(value))
}
