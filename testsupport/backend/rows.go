package backend

import (
	"encoding/binary"
	"fmt"

	"gpujoin/shm"
)

// Value is a column value of a row; nil is NULL. A value of variable length is
// a complete varlena, padded to the column's alignment.
type Value []byte

// Int64 returns n as an 8-byte value.
func Int64(n int64) Value { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// Varlena returns text as a short varlena, padded to a multiple of align bytes.
func Varlena(text string, align int) Value {
	n := len(text) + 1
	v := append(Value{byte(n<<1 | 1)}, text...)
	for len(v)%align != 0 {
		v = append(v, 0)
	}
	return v
}

// Feed hands over rows as the given input, in batches of at most batch rows. If
// batch is 0, each batch fills its extent.
func (c *Conn) Feed(input int, shapes []shm.ColumnShape, rows [][]Value, batch int) error {
	for len(rows) > 0 {
		extents, err := c.Want(1)
		if err != nil {
			return err
		}
		n, err := Fill(extents[0].Data, shapes, rows, batch)
		if err != nil {
			return err
		}
		if err := c.Filled(extents[0], input, n); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// Fill writes as many rows as fit into an extent, at most batch of them unless
// batch is 0. It returns the number of rows written.
func Fill(extent []byte, shapes []shm.ColumnShape, rows [][]Value, batch int) (int, error) {
	mean := make([]float64, len(shapes))
	for _, row := range rows {
		for i := range shapes {
			mean[i] += float64(len(row[i])) / float64(len(rows))
		}
	}
	layout, err := shm.PlanBatch(len(extent), shapes, mean)
	if err != nil {
		return 0, err
	}
	views := layout.Columns(extent)
	heap := make([]int, len(shapes))
	limit := min(layout.Rows, len(rows))
	if batch > 0 {
		limit = min(limit, batch)
	}
	n := 0
	for ; n < limit && fits(views, heap, rows[n]); n++ {
		for i := range views {
			put(&views[i], n, rows[n][i], &heap[i])
		}
	}
	if n == 0 {
		return 0, fmt.Errorf("the first row does not fit")
	}
	_, _, err = layout.Seal(extent, n, heap)
	return n, err
}

func fits(views []shm.ColumnView, heap []int, row []Value) bool {
	for i := range views {
		if views[i].Shape.Encoding == shm.EncVarlena && heap[i]+len(row[i]) > len(views[i].Heap) {
			return false
		}
	}
	return true
}

func put(c *shm.ColumnView, row int, v Value, heap *int) {
	if v == nil {
		c.Validity[row/8] &^= 1 << (row % 8)
	}
	if c.Shape.Encoding == shm.EncFixed {
		w := int(c.Shape.Width)
		clear(c.Values[row*w : (row+1)*w])
		copy(c.Values[row*w:(row+1)*w], v)
		return
	}
	*heap += copy(c.Heap[*heap:], v)
	binary.LittleEndian.PutUint32(c.Values[4*(row+1):], uint32(*heap))
}

// Rows returns copies of the rows of a result batch.
func Rows(extent []byte, shapes []shm.ColumnShape) ([][]Value, error) {
	view, err := shm.ReadBatch(extent, shapes)
	if err != nil {
		return nil, err
	}
	out := make([][]Value, view.Rows)
	for r := range out {
		out[r] = make([]Value, len(view.Columns))
		for i := range view.Columns {
			c := &view.Columns[i]
			if c.Validity != nil && c.Validity[r/8]&(1<<(r%8)) == 0 {
				continue
			}
			from, to, data := r*int(c.Shape.Width), (r+1)*int(c.Shape.Width), c.Values
			if c.Shape.Encoding == shm.EncVarlena {
				from = int(binary.LittleEndian.Uint32(c.Values[4*r:]))
				to = int(binary.LittleEndian.Uint32(c.Values[4*r+4:]))
				data = c.Heap
			}
			out[r][i] = append(Value{}, data[from:to]...)
		}
	}
	return out, nil
}

// Drain returns all rows that the daemon sends to this participant. credits is
// the number of batches that may be outstanding at a time.
func (c *Conn) Drain(shapes []shm.ColumnShape, credits int) ([][]Value, error) {
	var rows [][]Value
	if err := c.Next(credits); err != nil {
		return nil, err
	}
	for {
		e, err := c.Result()
		if e == nil || err != nil {
			return rows, err
		}
		batch, err := Rows(e.Data, shapes)
		if err != nil {
			return rows, err
		}
		if len(batch) != e.Rows {
			return rows, fmt.Errorf("RESULT of %d rows holds %d", e.Rows, len(batch))
		}
		rows = append(rows, batch...)
		if err := c.Release(e); err != nil {
			return rows, err
		}
		if err := c.Next(1); err != nil {
			return rows, err
		}
	}
}
