package source

import (
	"errors"
	"time"

	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/mirror/encode"
)

// Form is a column of a mirror: a published column in one form.
type Form struct {
	Place int // in Table.Published
	Type  encode.Type
}

// Forms returns the columns that a mirror of a table has, if nothing else is asked for: each
// published column whose type has an encoder, numeric(p <= 18, s) as an integer, the others
// as they are on disk. Of enums the caller must know the numbers: they are left out.
func Forms(t *Table) []Form {
	var forms []Form
	for place := range t.Published {
		c := t.column(place)
		wanted := encode.Type{OID: c.BaseType}
		if scale, ok := decimalScale(c.BaseTypmod); ok && c.BaseType == numericOID {
			wanted.Form, wanted.Scale = encode.Decimal, scale
		}
		if _, err := encode.New(wanted); err == nil && !c.Enum {
			forms = append(forms, Form{place, wanted})
		}
	}
	return forms
}

const numericOID = 1700

// decimalScale decodes numeric's typmod as gj_decimal_scale of fdw/job/columns.c does.
func decimalScale(typmod int32) (scale int, ok bool) {
	typmod -= 4
	if typmod < 0 {
		return 0, false
	}
	precision, scale := int(typmod>>16)&0xffff, int(typmod&0x7ff^1024)-1024
	return scale, precision <= 18 && scale >= 0 && scale <= precision
}

// mirrored is the Target that keeps a session's tables in a mirror.Server.
type mirrored struct {
	server *mirror.Server
	forms  func(*Table) []Form
	change mirror.Change // of the goroutine that applies
}

// Mirrored returns a target that keeps tables in a server's mirrors, in the given forms.
func Mirrored(server *mirror.Server, forms func(*Table) []Form) Target {
	return &mirrored{server: server, forms: forms}
}

// encoding is how the rows of a table are encoded.
type encoding struct {
	columns encode.Columns
	key     encode.Columns // of Table.Key
}

// newEncoding finds the encoders of a table, and describes it as mirrors do.
func newEncoding(t *Table, forms []Form) (*encoding, *mirror.Table, error) {
	e := &encoding{}
	m := &mirror.Table{Schema: t.Schema, Name: t.Table, OID: t.OID}
	value := map[int]int{} // columns in the form Value or Decimal, by their place
	for _, f := range forms {
		encoder, err := encode.New(f.Type)
		if err != nil {
			return nil, nil, err
		}
		c := t.column(f.Place)
		if f.Type.Form == encode.Value || f.Type.Form == encode.Decimal {
			value[f.Place] = len(m.Columns)
		}
		e.columns = append(e.columns, encode.Source{Encoder: encoder, From: f.Place})
		m.Columns = append(m.Columns, mirror.Column{Name: c.Name, Attnum: c.Attnum, Type: c.BaseType, Typmod: c.BaseTypmod, Collation: c.Collation,
			NotNull: c.NotNull, Form: int(f.Type.Form), Scale: f.Type.Scale, Physical: encoder.Column()})
	}
	for _, place := range t.Key {
		at, ok := value[place]
		if !ok {
			return nil, nil, direct("column "+t.column(place).Name+" of its key has a type that cannot be mirrored",
				"ALTER TABLE … REPLICA IDENTITY USING INDEX with other columns")
		}
		m.Key = append(m.Key, at)
		e.key = append(e.key, e.columns[at])
	}
	return e, m, nil
}

func (m *mirrored) Begin(t *Table) (Loading, error) {
	e, described, err := newEncoding(t, m.forms(t))
	if err != nil {
		return nil, ofMirror(err)
	}
	l, err := m.server.Begin(described)
	if err != nil {
		return nil, ofMirror(err)
	}
	t.encoding = e
	return &mirroredLoading{loading: l, table: t}, nil
}

var ops = [...]mirror.Op{Insert: mirror.Insert, Update: mirror.Update, Delete: mirror.Delete, Truncate: mirror.Truncate}

// encoded encodes a change into the memory of an earlier one.
func encoded(to *mirror.Change, c *Change) error {
	to.Table, to.Op = c.Table.OID, ops[c.Kind]
	to.New.Fields, to.Key.Fields = to.New.Fields[:0], to.Key.Fields[:0]
	if c.New != nil {
		if err := c.Table.encoding.columns.Row(&to.New, c.New); err != nil {
			return err
		}
	}
	if c.Key != nil {
		return c.Table.encoding.key.Row(&to.Key, c.Key)
	}
	return nil
}

func (m *mirrored) Change(c *Change) error {
	if err := encoded(&m.change, c); err != nil {
		return ofMirror(err)
	}
	return ofMirror(m.server.Change(&m.change))
}

func (m *mirrored) Commit(end LSN, at time.Time) error { return m.server.Commit(end, at) }
func (m *mirrored) Received(walEnd LSN)                { m.server.Received(walEnd) }
func (m *mirrored) Abort()                             { m.server.Abort() }
func (m *mirrored) Fail(t *Table, reason error)        { m.server.Fail(t.OID, reason) }
func (m *mirrored) Reset(reason error)                 { m.server.Reset(reason) }

// mirroredLoading is a table that loads into a mirror.
type mirroredLoading struct {
	loading *mirror.Loading
	table   *Table
	change  mirror.Change
}

func (l *mirroredLoading) Batch(b *Batch) error {
	encoded := b.encoded
	if encoded == nil || b.encodes != l.table {
		encoded = encode.NewBatch(l.table.encoding.columns)
		b.encoded, b.encodes = encoded, l.table
	}
	encoded.Reset()
	for r := range b.Rows {
		if err := encoded.Add(b.Row(r)); err != nil {
			return ofMirror(err)
		}
	}
	return ofMirror(l.loading.Batch(encoded.Rows, encoded.Vectors))
}

func (l *mirroredLoading) Change(c *Change) error {
	if err := encoded(&l.change, c); err != nil {
		return ofMirror(err)
	}
	return ofMirror(l.loading.Change(&l.change))
}

func (l *mirroredLoading) Join(at LSN) error    { return ofMirror(l.loading.Join(at)) }
func (l *mirroredLoading) Abandon(reason error) { l.loading.Cancel(reason) }

// ofMirror makes an Error of one of the mirror's.
func ofMirror(err error) error {
	var own *Error
	switch {
	case err == nil, errors.As(err, &own):
		return err
	case errors.Is(err, mirror.ErrMemory):
		return errMemory.from(err)
	case errors.Is(err, mirror.ErrInconsistent), errors.Is(err, mirror.ErrLate), errors.Is(err, mirror.ErrOrder):
		return errApply.because("%v", err).from(err)
	}
	return direct("its rows cannot be mirrored: "+err.Error(), "the table is read directly").from(err)
}
