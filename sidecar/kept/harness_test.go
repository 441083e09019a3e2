package kept

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gpujoin/joincore"
)

// heap is memory for tests: it counts extents and can be told to have no more. It spoils what
// is given back, so that whoever still reads it finds nonsense.
type heap struct {
	mu         sync.Mutex
	size       int64
	live, most int // extents; most 0: no limit
}

var errHeap = errors.New("no more extents")

func (h *heap) ExtentSize() int64 { return h.size }

func (h *heap) Extent() (Extent, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.most > 0 && h.live >= h.most {
		return Extent{}, errHeap
	}
	h.live++
	data := make([]byte, h.size)
	released := false
	return Extent{data, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if released {
			panic("an extent was released twice")
		}
		released = true
		h.live--
		for i := range data {
			data[i] = 0xa5
		}
	}}, nil
}

// source counts references.
type source struct{ refs atomic.Int32 }

func (s *source) Retain() { s.refs.Add(1) }
func (s *source) Release() {
	if s.refs.Add(-1) < 0 {
		panic("a source was released too often")
	}
}

// The columns of test tables. All values of a row follow from its id.
var (
	idColumn   = Column{Attnum: 1, Type: 20, Physical: joincore.Column{Kind: joincore.Fixed, Width: 8}}
	textColumn = Column{Attnum: 2, Type: 25, Collation: 100, Physical: joincore.Column{Kind: joincore.Varlena, Align: 4}}
	nullColumn = Column{Attnum: 3, Type: 23, Physical: joincore.Column{Kind: joincore.Fixed, Width: 4}}
	allColumns = []Column{idColumn, textColumn, nullColumn}
)

// textOf is the text of a row.
func textOf(id int64) string { return fmt.Sprintf("row %d of %d", id, id%11*1000) }

// isNull says which rows have NULL in nullColumn.
func isNull(id int64) bool { return id%3 == 0 }

// segmentOf returns rows in the form of a batch.
func segmentOf(columns []Column, ids []int64) joincore.Segment {
	seg := joincore.Segment{Rows: len(ids), Columns: make([]joincore.Vector, len(columns))}
	for i, c := range columns {
		v := &seg.Columns[i]
		switch c.Attnum {
		case 1:
			for _, id := range ids {
				v.Values = binary.LittleEndian.AppendUint64(v.Values, uint64(id))
			}
		case 2:
			v.Values = binary.LittleEndian.AppendUint32(nil, 0)
			for _, id := range ids {
				text := textOf(id)
				value := make([]byte, joincore.TextSize(len(text), 4))
				joincore.PutText(value, []byte(text))
				v.Heap = append(v.Heap, value...)
				v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(len(v.Heap)))
			}
		case 3:
			v.Validity = make([]byte, (len(ids)+7)/8)
			for j, id := range ids {
				v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(id))
				if !isNull(id) {
					v.Validity[j/8] |= 1 << (j % 8)
				}
			}
		}
	}
	return seg
}

// readRows returns what a query reads in segments: a text for each row.
func readRows(columns []Column, segments []joincore.Segment) (out []string, err error) {
	relation := joincore.Relation{Segments: segments}
	for _, c := range columns {
		relation.Columns = append(relation.Columns, c.Physical)
	}
	if err := relation.Check(); err != nil {
		return nil, err
	}
	for _, seg := range segments {
		for row := range seg.Rows {
			text := ""
			for i, c := range columns {
				value, err := valueOf(c, &seg.Columns[i], row)
				if err != nil {
					return nil, err
				}
				text += value + "|"
			}
			out = append(out, text)
		}
	}
	return out, nil
}

func valueOf(c Column, v *joincore.Vector, row int) (string, error) {
	switch c.Attnum {
	case 1:
		return fmt.Sprint(int64(binary.LittleEndian.Uint64(v.Values[8*row:]))), nil
	case 2:
		payload, err := joincore.TextPayload(v.Variable(row))
		return string(payload), err
	}
	if v.Null(row) {
		return "NULL", nil
	}
	return fmt.Sprint(int32(binary.LittleEndian.Uint32(v.Values[4*row:]))), nil
}

// rowsOf is readRows, which must not fail.
func rowsOf(t testing.TB, columns []Column, segments []joincore.Segment) []string {
	t.Helper()
	rows, err := readRows(columns, segments)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// wantedRows returns what readRows must return of the rows with these ids.
func wantedRows(columns []Column, ids []int64) (out []string) {
	for _, id := range ids {
		text := ""
		for _, c := range columns {
			switch {
			case c.Attnum == 1 || c.Attnum == 3 && !isNull(id):
				text += fmt.Sprint(id)
			case c.Attnum == 2:
				text += textOf(id)
			default:
				text += "NULL"
			}
			text += "|"
		}
		out = append(out, text)
	}
	return out
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// allVisible is a copy of a VM page on which all bits are set.
func allVisible(lsn uint64) Group {
	g := Group{LSN: lsn, Visible: make([]byte, GroupBlocks/8)}
	for i := range g.Visible {
		g.Visible[i] = 0xff
	}
	return g
}
