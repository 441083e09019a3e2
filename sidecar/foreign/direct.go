package foreign

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"gpujoin/joincore"
	"gpujoin/sidecar/bitmap"
	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/mirror/encode"
	"gpujoin/sidecar/source"
)

// direct reads a table from its server into memory of a job.
type direct struct {
	read    *Read
	columns encode.Columns
	memory  *mirror.Divider
	batch   *encode.Batch
	rows    Rows
}

func readDirect(ctx context.Context, from snapshot, r *Read) (*Rows, error) {
	d := &direct{read: r, memory: mirror.NewDivider(r.Extent)}
	what := source.Read{Table: source.Name{Schema: r.Schema, Table: r.Table}}
	for i := range r.Columns {
		e, err := d.column(&r.Columns[i])
		if err != nil {
			return nil, err
		}
		what.Columns = append(what.Columns, e)
	}
	what.Where = whereOf(r)
	d.batch = encode.NewBatch(d.columns)
	for i := range r.Columns {
		d.rows.Relation.Columns = append(d.rows.Relation.Columns, r.Columns[i].Physical)
	}
	if r.Sample != nil {
		what.Where = "" // it is a sample of all rows
		if err := d.choose(ctx, from, &what); err != nil {
			return nil, err
		}
	}
	if err := from.Copy(ctx, what, d.add); err != nil {
		return nil, err
	}
	if r.Sample == nil {
		d.rows.Total = d.rows.Relation.Rows()
	}
	return &d.rows, nil
}

// OIDs of types whose values depend on a modifier: it is part of the cast.
const (
	textType    = 25
	bpcharType  = 1042
	bitType     = 1560
	numericType = 1700
)

// column returns how a column is read. Its values are cast, so that they are those of the foreign
// table's type, whatever type they have at the source; a cast to the same type costs nothing there.
func (d *direct) column(c *Column) (source.Expression, error) {
	t := encode.Type{OID: c.Type, Form: encode.Form(c.Form), Scale: c.Scale}
	if c.Text {
		t = encode.Type{OID: textType}
	}
	e, err := encode.New(t)
	if err != nil {
		return source.Expression{}, fmt.Errorf("column %s: %w", c.Name, err)
	}
	if e.Column() != c.Physical {
		return source.Expression{}, fmt.Errorf("%w: column %s is not as the job describes it", joincore.ErrInvalid, c.Name)
	}
	d.columns = append(d.columns, encode.Source{Encoder: e, From: len(d.columns)})
	return source.Expression{Column: c.Name, Cast: castOf(c)}, nil
}

// castOf returns the type that a column's values are cast to, which has an encoder.
func castOf(c *Column) string {
	if c.Text {
		return encode.SQLName(textType)
	}
	cast := encode.SQLName(c.Type)
	switch {
	case c.Typmod < 0:
	case c.Type == numericType:
		n := c.Typmod - 4
		cast += fmt.Sprintf("(%d,%d)", n>>16&0xffff, (n&0x7ff^1024)-1024)
	case c.Type == bpcharType:
		cast += fmt.Sprintf("(%d)", c.Typmod-4)
	case c.Type == bitType:
		cast += fmt.Sprintf("(%d)", c.Typmod)
	}
	return cast
}

// choose makes a read one of a sample, and counts all rows.
func (d *direct) choose(ctx context.Context, from snapshot, what *source.Read) error {
	count := source.Read{Table: what.Table, Columns: []source.Expression{{SQL: "pg_catalog.count(*)"}}}
	err := from.Copy(ctx, count, func(b *source.Batch) error {
		if v := b.Value(0, 0); len(v) == 8 {
			d.rows.Total = int64(binary.BigEndian.Uint64(v))
		}
		return nil
	})
	if n := d.read.Sample.Rows; err == nil && d.rows.Total > n {
		// A few more than needed, so that hardly ever some are missing.
		share := (1.05*float64(n) + 5*math.Sqrt(float64(n))) / float64(d.rows.Total)
		what.Where = fmt.Sprintf("pg_catalog.random() < %g", share)
		what.Rest = fmt.Sprintf(" ORDER BY pg_catalog.random() LIMIT %d", n)
	}
	return err
}

// add takes rows over.
func (d *direct) add(b *source.Batch) error {
	d.batch.Reset()
	for i := range b.Rows {
		if err := d.batch.Add(b.Row(i)); err != nil {
			return fmt.Errorf("%s.%s: %w", d.read.Schema, d.read.Table, err)
		}
	}
	return d.place(0, d.batch.Rows)
}

// place copies rows of the batch to the job's memory: as a segment, or as several if the values of a
// column exceed an extent.
func (d *direct) place(from, to int) error {
	if from == to {
		return nil
	}
	for i := range d.columns {
		n := d.heap(i, from, to)
		if n <= d.read.ExtentSize {
			continue
		}
		if to-from == 1 {
			return fmt.Errorf("%w: a value of column %s of %s.%s has %d bytes, and an extent only %d",
				mirror.ErrTooLong, d.read.Columns[i].Name, d.read.Schema, d.read.Table, n, d.read.ExtentSize)
		}
		middle := (from + to) / 2
		if err := d.place(from, middle); err != nil {
			return err
		}
		return d.place(middle, to)
	}
	seg := joincore.Segment{Rows: to - from, Columns: make([]joincore.Vector, len(d.columns))}
	for i := range d.columns {
		if err := d.copy(&seg.Columns[i], i, from, to); err != nil {
			return err
		}
	}
	d.rows.Relation.Segments = append(d.rows.Relation.Segments, seg)
	return nil
}

// heap returns the bytes of a column's values of variable length in some rows.
func (d *direct) heap(column, from, to int) int {
	if d.columns[column].Encoder.Column().Kind != joincore.Varlena {
		return 0
	}
	offsets := d.batch.Vectors[column].Values
	return int(binary.LittleEndian.Uint32(offsets[4*to:]) - binary.LittleEndian.Uint32(offsets[4*from:]))
}

// copy copies a column of rows of the batch.
func (d *direct) copy(to *joincore.Vector, column, from, end int) (err error) {
	v, c := &d.batch.Vectors[column], d.columns[column].Encoder.Column()
	rows, width := end-from, c.StoredWidth()
	if c.Kind == joincore.Varlena {
		if to.Values, err = d.take(width * (rows + 1)); err != nil {
			return err
		}
		begin := binary.LittleEndian.Uint32(v.Values[4*from:])
		for i := range rows + 1 {
			binary.LittleEndian.PutUint32(to.Values[4*i:], binary.LittleEndian.Uint32(v.Values[4*(from+i):])-begin)
		}
		if to.Heap, err = d.take(d.heap(column, from, end)); err != nil {
			return err
		}
		copy(to.Heap, v.Heap[begin:])
	} else {
		if to.Values, err = d.take(width * rows); err != nil {
			return err
		}
		copy(to.Values, v.Values[width*from:])
	}
	if v.Validity == nil || bitmap.AllSet(v.Validity, from, rows) {
		return nil
	}
	if to.Validity, err = d.take((rows + 7) / 8); err != nil {
		return err
	}
	bitmap.Copy(to.Validity, 0, v.Validity, from, rows)
	return nil
}

func (d *direct) take(n int) ([]byte, error) {
	d.rows.Bytes += int64(n)
	return d.memory.Take(n)
}
