//go:build cuda

package outofcore

import (
	"context"
	"encoding/binary"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/hostinput"
	"gpujoin/joincore/cuda/rowid"
)

// list is rows that are known by their row ids only.
type list struct {
	input *hostinput.Input
	ids   []uint32
}

func (l *list) Count() int64                            { return int64(len(l.ids)) }
func (l *list) Columns() (columns []int, numbered bool) { return nil, true }
func (l *list) Number(row int64) uint32                 { return l.ids[row] }
func (l *list) Numbers(first, n int64) []uint32         { return l.ids[first : first+n] }

func (l *list) Upload(ctx context.Context, to Uploader, column int) (rowid.Column, error) {
	return uploadByNumber(ctx, to, l.input, l, column)
}

func (l *list) UploadNumbers(ctx context.Context, to Uploader) (driver.Ptr, error) {
	at, err := to.Alloc(4 * l.Count())
	if err != nil {
		return 0, err
	}
	return at, to.Fill(ctx, at, 4*l.Count(), 4, func(buffer []byte, first int64) error {
		for i, id := range l.ids[first/4:][:len(buffer)/4] {
			binary.LittleEndian.PutUint32(buffer[4*i:], id)
		}
		return nil
	})
}

// uploadByNumber gathers the values of rows by row id on the host while they are
// uploaded, and expands their validity to one byte per row.
func uploadByNumber(ctx context.Context, to Uploader, input *hostinput.Input, rows Rows, j int) (c rowid.Column, err error) {
	c.Width = input.Relation.Columns[j].Width
	if input.Relation.Columns[j].Kind == joincore.Varlena {
		c.Values, err = uploadTexts(ctx, to, input, rows, j)
	} else {
		c.Values, err = uploadValues(ctx, to, input, rows, j)
	}
	if err != nil || !input.Nullable(j) {
		return c, err
	}
	count := rows.Count()
	if c.Validity, err = to.Alloc(count); err != nil {
		return c, err
	}
	return c, to.Fill(ctx, c.Validity, count, 1, func(buffer []byte, at int64) error {
		ids := rows.Numbers(at, int64(len(buffer)))
		return inRows(len(ids), 1, func(low, high int) {
			r := input.Reader(j)
			for i := low; i < high; i++ {
				buffer[i] = 1
				if r.Null(r.Locate(int64(ids[i]))) {
					buffer[i] = 0
				}
			}
		})
	})
}

// uploadValues gathers values of fixed width.
func uploadValues(ctx context.Context, to Uploader, input *hostinput.Input, rows Rows, j int) (driver.Ptr, error) {
	width, count := input.Relation.Columns[j].Width, rows.Count()
	values, err := to.Alloc(count * int64(width))
	if err != nil {
		return 0, err
	}
	return values, to.Fill(ctx, values, count*int64(width), int64(width), func(buffer []byte, at int64) error {
		ids := rows.Numbers(at/int64(width), int64(len(buffer)/width))
		return inRows(len(ids), width, func(low, high int) {
			r := input.Reader(j)
			for i := low; i < high; i++ {
				copy(buffer[i*width:(i+1)*width], r.Raw(int64(ids[i])))
			}
		})
	})
}

// uploadTexts gathers texts: their bytes, and where those of each row are.
func uploadTexts(ctx context.Context, to Uploader, input *hostinput.Input, rows Rows, j int) (driver.Ptr, error) {
	count := rows.Count()
	all := textsOf(input, j, rows.Numbers(0, count))
	spans, err := to.Alloc(rowid.SpanBytes * count)
	if err != nil {
		return 0, err
	}
	heap, err := to.Alloc(all.bytes())
	if err != nil {
		return 0, err
	}
	err = to.Fill(ctx, heap, all.bytes(), 1, func(buffer []byte, at int64) error {
		return hostinput.InPieces(len(buffer), func(low, high int) { all.copy(buffer[low:high], at+int64(low)) })
	})
	if err != nil {
		return 0, err
	}
	return spans, to.Fill(ctx, spans, rowid.SpanBytes*count, rowid.SpanBytes, func(buffer []byte, at int64) error {
		first := int(at / rowid.SpanBytes)
		for i := range len(buffer) / rowid.SpanBytes {
			begin, end := all.begin(first+i), all.begin(first+i+1)
			span := buffer[rowid.SpanBytes*i:][:rowid.SpanBytes]
			binary.LittleEndian.PutUint64(span, uint64(heap)+uint64(begin))
			binary.LittleEndian.PutUint64(span[8:], uint64(end-begin))
		}
		return nil
	})
}

// inRows is hostinput.InPieces for rows of width bytes.
func inRows(rows, width int, work func(low, high int)) error {
	return hostinput.InPieces(rows*width, func(low, high int) { work((low+width-1)/width, (high+width-1)/width) })
}
