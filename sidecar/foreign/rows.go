package foreign

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/mirror/encode"
	"gpujoin/sidecar/source"
)

// Rows is what a job has read of a table.
type Rows struct {
	Relation joincore.Relation // until the pin is released
	Total    int64             // rows that the table has, of which a sample has fewer
	Bytes    int64             // of the job's memory, for a table that was read directly
}

// Direct reports whether a table is read directly from its server.
func (p *Pin) Direct(schema, table string) bool {
	t := p.tables[source.Name{Schema: schema, Table: table}]
	return t != nil && t.direct
}

// Read returns columns of the rows that a table has at the pin's position: those of its mirror, or
// those that its server sends. The error wraps mirror.ErrNotReady, joincore.ErrUnsupported (a value
// has no such form, or is too long) or joincore.ErrInvalid, or is one of the source, of r.Extent or of
// ctx.
func (p *Pin) Read(ctx context.Context, r Read) (*Rows, error) {
	rows, err := p.readTable(ctx, &r)
	for _, e := range []error{encode.ErrUnfit, encode.ErrNone, mirror.ErrTooLong} {
		if errors.Is(err, e) {
			return nil, fmt.Errorf("%w: %w", joincore.ErrUnsupported, err)
		}
	}
	return rows, err
}

func (p *Pin) readTable(ctx context.Context, r *Read) (*Rows, error) {
	name := source.Name{Schema: r.Schema, Table: r.Table}
	t := p.tables[name]
	switch {
	case t == nil:
		return nil, fmt.Errorf("%w: %s is not a table of this position", mirror.ErrNotReady, name)
	case t.direct:
		return readDirect(ctx, p.direct, r)
	}
	return t.read(p.mirror, r)
}

// read reads a mirrored table.
func (t *pinned) read(pin *mirror.Pin, r *Read) (*Rows, error) {
	what := mirror.Read{More: r.Extent}
	for i := range r.Columns {
		w, err := wantedOf(t.columns, &r.Columns[i])
		if err != nil {
			return nil, err
		}
		what.Columns = append(what.Columns, w)
	}
	if r.Sample != nil {
		what.Sample = &mirror.Sample{Rows: r.Sample.Rows, Seed: r.Sample.Seed}
	}
	relation, total, err := pin.Read(t.oid, what)
	if err != nil {
		return nil, fmt.Errorf("%s.%s: %w", r.Schema, r.Table, err)
	}
	return &Rows{Relation: relation, Total: total}, nil
}

// wantedOf finds a column of a mirror in the wanted form, or what the form is made of.
func wantedOf(columns []mirror.Column, c *Column) (w mirror.Wanted, err error) {
	err = fmt.Errorf("%w: the mirror has no column %s of this type", mirror.ErrNotReady, c.Name)
	for i := range columns {
		have := &columns[i]
		if have.Name != c.Name || have.Type != c.Type || c.Text {
			continue
		}
		physical := have.Physical
		w = mirror.Wanted{Column: i}
		if have.Form != c.Form || have.Scale != c.Scale && scales(encode.Form(c.Form)) {
			if w.Form, err = encode.Derive(encode.Type{OID: have.Type, Form: encode.Form(have.Form), Scale: have.Scale}, encode.Form(c.Form), c.Scale); err != nil {
				continue
			}
			physical = w.Form.Column()
		}
		if physical == c.Physical {
			return w, nil
		}
		err = fmt.Errorf("%w: column %s is not as the job describes it", joincore.ErrInvalid, c.Name)
	}
	return w, err
}

// scales reports whether the values of a form depend on its scale.
func scales(f encode.Form) bool { return f == encode.Decimal || f == encode.Unscaled }
