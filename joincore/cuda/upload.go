//go:build cuda

package cuda

import (
	"context"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
)

// load queues the upload of a column on the load stream.
func (v *view) load(ctx context.Context, j int) (*column, error) {
	desc := v.input.Relation.Columns[j]
	if v.derived != nil {
		return nil, fmt.Errorf("a column of groups that is not on the device: %w", joincore.ErrUnsupported)
	}
	c := &column{Column: rowid.Column{Width: desc.Width}}
	var err error
	if v.source != nil {
		c.Column, err = v.source.Upload(ctx, uploader{v}, j)
		return c, err
	}
	if v.input.Nullable(j) {
		if c.Validity, err = v.alloc(v.rows); err != nil {
			return nil, err
		}
	}
	if desc.Kind == joincore.Varlena {
		err = v.loadTexts(ctx, j, c)
	} else {
		err = v.loadValues(ctx, j, c)
	}
	if err == nil && c.Validity != 0 {
		err = v.loadValidity(ctx, j, c.Validity)
	}
	return c, err
}

// eachSegment visits the view's segments with the number of their first row.
func (v *view) eachSegment(visit func(s *joincore.Segment, first int64) error) error {
	for i := v.low; i < v.high; i++ {
		if err := visit(&v.input.Relation.Segments[i], v.input.Starts[i]-v.first()); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) loadValues(ctx context.Context, j int, c *column) (err error) {
	width := int64(c.Width)
	if c.Values, err = v.alloc(v.rows * width); err != nil {
		return err
	}
	return v.workspace.batched(func() error {
		return v.eachSegment(func(s *joincore.Segment, first int64) error {
			return v.workspace.copyIn(ctx, c.Values+driver.Ptr(first*width), s.Columns[j].Values[:int64(s.Rows)*width])
		})
	})
}

// loadValidity expands the segments' bitmaps to one byte per row.
func (v *view) loadValidity(ctx context.Context, j int, at driver.Ptr) error {
	l := v.workspace.upload
	return v.eachSegment(func(s *joincore.Segment, first int64) error {
		to, bits := at+driver.Ptr(first), s.Columns[j].Validity
		if bits == nil {
			return l.stream.Memset(to, 1, int64(s.Rows))
		}
		piece := 8 * (l.scratchBytes / 2)
		for row := int64(0); row < int64(s.Rows); row += piece {
			n := min(piece, int64(s.Rows)-row)
			if err := v.workspace.copyIn(ctx, l.scratch.Base(), bits[row/8:(row+n+7)/8]); err != nil {
				return err
			}
			if err := l.queue.Unpack(l.scratch.Base(), n, to+driver.Ptr(row)); err != nil {
				return err
			}
		}
		return nil
	})
}

// loadTexts uploads the segments' heaps and turns their offsets into spans. A
// heap may be larger or smaller than its offsets imply.
func (v *view) loadTexts(ctx context.Context, j int, c *column) (err error) {
	if c.Values, err = v.alloc(16 * v.rows); err != nil {
		return err
	}
	return v.eachSegment(func(s *joincore.Segment, first int64) error {
		vector := &s.Columns[j]
		offsets, err := v.alloc(4 * int64(s.Rows+1))
		if err != nil {
			return err
		}
		heap, err := v.alloc(int64(len(vector.Heap)))
		if err != nil {
			return err
		}
		if err := v.workspace.copyIn(ctx, offsets, vector.Values[:4*(s.Rows+1)]); err != nil {
			return err
		}
		if err := v.workspace.copyIn(ctx, heap, vector.Heap); err != nil {
			return err
		}
		return v.workspace.upload.queue.Spans(offsets, heap, int64(len(vector.Heap)), int64(s.Rows), c.Values+driver.Ptr(16*first))
	})
}
