//go:build cuda

package cuda

import (
	"context"
	"fmt"

	"gpujoin/joincore"
)

// loadList gathers values by row id on the host while they are uploaded, and
// expands their validity to one byte per row.
func (v *view) loadList(ctx context.Context, j int, c *column) (err error) {
	if v.input.relation.Columns[j].Kind != joincore.Fixed {
		return fmt.Errorf("gather of variable-length values by row id: %w", joincore.ErrUnsupported)
	}
	width := c.Width
	if c.Values, err = v.alloc(v.rows * int64(width)); err != nil {
		return err
	}
	err = v.e.fill(ctx, c.Values, v.rows*int64(width), int64(width), func(to []byte, at int64) error {
		rows := v.rangeOf(at/int64(width), int64(len(to)/width))
		return inRows(len(to)/width, width, func(low, high int) error {
			r := v.input.reader(j)
			for i := low; i < high; i++ {
				copy(to[i*width:(i+1)*width], r.raw(int64(rows.list[i])))
			}
			return nil
		})
	})
	if err != nil || c.Validity == 0 {
		return err
	}
	return v.e.fill(ctx, c.Validity, v.rows, 1, func(to []byte, at int64) error {
		rows := v.rangeOf(at, int64(len(to)))
		return inRows(len(to), 1, func(low, high int) error {
			r := v.input.reader(j)
			for i := low; i < high; i++ {
				to[i] = 1
				if r.null(r.locate(int64(rows.list[i]))) {
					to[i] = 0
				}
			}
			return nil
		})
	})
}

// inRows is inPieces for rows of width bytes.
func inRows(rows, width int, work func(low, high int) error) error {
	return inPieces(rows*width, func(low, high int) error {
		return work((low+width-1)/width, (high+width-1)/width)
	})
}
