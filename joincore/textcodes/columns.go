package textcodes

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
)

// partRows is the number of rows of a part of a segment, which one worker computes. It is a
// multiple of 8, so that no byte of a validity bitmap belongs to two parts.
const partRows = 1 << 16

// columns computes the columns that are added to one input.
type columns struct {
	input   int
	from    *joincore.Relation
	rows    *cpu.Evaluator
	list    []*columnOf
	parts   []part
	workers int
	memo    *memoUse
}

// part is a range of rows of a segment.
type part struct{ segment, first, n int }

// columnOf is one added column.
type columnOf struct {
	added
	at addedAt
	// source is the column of the input of which stored values are numbered, or -1.
	source   int
	vectors  []joincore.Vector // by segment; Values of codes and truths, and Validity
	nullable []atomic.Bool     // by segment: some value is NULL
	known    []bool            // by segment: the values are there already
	codes    []*reader         // of codes: one for each worker
	// Of texts: the values of each part, to which offsets in Values refer.
	texts []texts
}

// extend returns the inputs of the new plan, and completes its parameters.
func extend(ctx context.Context, r *rewriting, plan *joincore.Checked, in []*joincore.Relation, mem *joincore.Account, turns device.Turns, memo *memoUse) ([]*joincore.Relation, error) {
	numbers, err := r.dictionaries(mem, memo)
	if err != nil {
		return nil, err
	}
	var all []*columns
	for i, list := range r.added {
		if len(list) == 0 {
			continue
		}
		c, err := newColumns(i, in[i], list, numbers, plan.Parameters, mem, memo)
		if err != nil {
			return nil, err
		}
		if err := c.compute(ctx, mem, turns); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if err := numbers.order(ctx, all, turns); err != nil {
		return nil, err
	}
	out := slices.Clone(in)
	for _, c := range all {
		if out[c.input], err = c.relation(ctx, mem, turns); err != nil {
			return nil, err
		}
	}
	for _, of := range r.listed {
		list, err := numbers[of.root()].relation(mem)
		if err != nil {
			return nil, err
		}
		out = append(out, list)
	}
	for i := range r.selections {
		s := &r.selections[i]
		if err := s.complete(ctx, numbers[s.of.root()], plan.Parameters, mem); err != nil {
			return nil, err
		}
	}
	return out, numbers.complete(r.plan.Parameters)
}

func newColumns(input int, from *joincore.Relation, list []added, numbers dictionaries, parameters []joincore.Parameter, mem *joincore.Account, memo *memoUse) (*columns, error) {
	c := &columns{input: input, from: from, memo: memo}
	var err error
	if c.rows, err = cpu.NewEvaluator(input, from, parameters); err != nil {
		return nil, err
	}
	for s := range from.Segments {
		for first := 0; first < from.Segments[s].Rows; first += partRows {
			c.parts = append(c.parts, part{s, first, min(partRows, from.Segments[s].Rows-first)})
		}
	}
	c.workers = min(runtime.GOMAXPROCS(0), len(c.parts))
	for number, a := range list {
		col := &columnOf{added: a, source: -1, at: addedAt{input, number}}
		if ref, ok := a.value.(joincore.ColumnRef); ok && (from.Columns[ref.Column].Kind == joincore.Fixed || !a.of.root().payloads) {
			col.source = ref.Column
		}
		if err := col.take(from, len(c.parts), c.workers, numbers, mem, memo); err != nil {
			return nil, err
		}
		c.list = append(c.list, col)
	}
	return c, nil
}

// take takes the memory of a column, but for that of texts.
func (c *columnOf) take(from *joincore.Relation, parts, workers int, numbers dictionaries, mem *joincore.Account, memo *memoUse) error {
	c.vectors = make([]joincore.Vector, len(from.Segments))
	c.nullable = make([]atomic.Bool, len(from.Segments))
	c.known = make([]bool, len(from.Segments))
	for s := range c.vectors {
		rows := from.Segments[s].Rows
		v, there, ok := memo.vector(c.at, &from.Segments[s], c.column().Width)
		if ok {
			c.vectors[s], c.known[s] = v, there
			if there {
				c.nullable[s].Store(v.Validity != nil)
			} else {
				setAll(v.Validity)
			}
			continue
		}
		bytes := c.column().Width * rows
		if c.kind == addedText {
			bytes = 4 * (rows + 1)
		}
		var err error
		if c.vectors[s].Values, err = mem.Alloc(int64(bytes)); err != nil {
			return err
		}
		if c.vectors[s].Validity, err = mem.Alloc(int64((rows + 7) / 8)); err != nil {
			return err
		}
		setAll(c.vectors[s].Validity)
	}
	switch c.kind {
	case addedCode:
		if !slices.Contains(c.known, false) {
			return nil
		}
		for range workers {
			c.codes = append(c.codes, numbers[c.of.root()].reader())
		}
	case addedText:
		c.texts = make([]texts, parts)
	}
	return nil
}

// setAll sets all bits.
func setAll(bits []byte) {
	for i := range bits {
		bits[i] = 0xff
	}
}

// compute computes all columns of all parts.
func (c *columns) compute(ctx context.Context, mem *joincore.Account, turns device.Turns) error {
	return c.each(ctx, turns, func(ctx context.Context, worker, i int) error {
		for _, col := range c.list {
			if err := col.part(ctx, c, mem, worker, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// each calls f for each part, on several goroutines.
func (c *columns) each(ctx context.Context, turns device.Turns, f func(ctx context.Context, worker, i int) error) error {
	parts := device.NewTasks(len(c.parts))
	return device.Workers(ctx, c.workers, func(ctx context.Context, worker int) error {
		for i := range parts.Deal(ctx, turns) {
			if err := f(ctx, worker, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// part computes a column in one part.
func (c *columnOf) part(ctx context.Context, all *columns, mem *joincore.Account, worker, i int) error {
	p := all.parts[i]
	if c.known[p.segment] {
		return nil
	}
	v := &c.vectors[p.segment]
	null := func(row int) {
		v.Validity[row/8] &^= 1 << (row % 8)
		c.nullable[p.segment].Store(true)
	}
	if c.kind == addedCode {
		codes := c.codes[worker]
		put := func(row int, b []byte) error {
			code, err := codes.code(b)
			binary.LittleEndian.PutUint32(v.Values[4*row:], code)
			return err
		}
		if c.source >= 0 {
			return eachRaw(all.from, c.source, p, put, func(row int) {
				binary.LittleEndian.PutUint32(v.Values[4*row:], 0)
				null(row)
			})
		}
		return all.rows.Each(ctx, c.value, p.segment, p.first, p.n, func(first int, values *cpu.Values) error {
			return eachText(first, values, c.nulls(v, 4, null), put)
		})
	}
	if c.kind == addedTruth {
		return all.rows.Each(ctx, c.value, p.segment, p.first, p.n, func(first int, values *cpu.Values) error {
			to := v.Values[first:][:len(values.Ints)]
			for j, x := range values.Ints {
				to[j] = byte(x)
			}
			for j, x := range values.Nulls {
				if x != 0 {
					to[j] = 0
					null(first + j)
				}
			}
			return nil
		})
	}
	// An offset is where the value begins among those of the part.
	list, at := &c.texts[i], p.first
	add := func(row int, b []byte) error {
		for ; at <= row; at++ {
			binary.LittleEndian.PutUint32(v.Values[4*at:], uint32(list.size))
		}
		return list.add(mem, b)
	}
	err := all.rows.Each(ctx, c.value, p.segment, p.first, p.n, func(first int, values *cpu.Values) error {
		return eachText(first, values, null, add)
	})
	for ; at < p.first+p.n; at++ {
		binary.LittleEndian.PutUint32(v.Values[4*at:], uint32(list.size))
	}
	return err
}

// nulls returns a function that makes a value of some bytes NULL.
func (c *columnOf) nulls(v *joincore.Vector, width int, null func(row int)) func(row int) {
	return func(row int) {
		clear(v.Values[width*row:][:width])
		null(row)
	}
}

// eachText passes bytes that are not NULL to put, and the rows of the others to null.
func eachText(first int, values *cpu.Values, null func(row int), put func(row int, b []byte) error) error {
	n := max(len(values.Bytes), len(values.Ints)) // all NULL: of either type
	for j := range n {
		if values.Bytes == nil || values.Nulls != nil && values.Nulls[j] != 0 {
			null(first + j)
			continue
		}
		if err := put(first+j, values.Bytes[j]); err != nil {
			return err
		}
	}
	return nil
}

// eachRaw passes the stored bytes of a column's values.
func eachRaw(from *joincore.Relation, column int, p part, put func(row int, b []byte) error, null func(row int)) error {
	v, described := &from.Segments[p.segment].Columns[column], from.Columns[column]
	for row := p.first; row < p.first+p.n; row++ {
		if v.Null(row) {
			null(row)
			continue
		}
		var b []byte
		if described.Kind == joincore.Fixed {
			b = v.Values[described.Width*row:][:described.Width]
		} else {
			b = v.Variable(row)
		}
		if err := put(row, b); err != nil {
			return err
		}
	}
	return nil
}

var errHeap = fmt.Errorf("more than 4 GiB of texts in one segment: %w", joincore.ErrUnsupported)

// relation returns the input with the added columns.
func (c *columns) relation(ctx context.Context, mem *joincore.Account, turns device.Turns) (*joincore.Relation, error) {
	for _, col := range c.list {
		if col.kind == addedText {
			if err := c.join(ctx, col, mem, turns); err != nil {
				return nil, err
			}
		}
	}
	out := &joincore.Relation{Columns: slices.Clone(c.from.Columns)}
	for _, col := range c.list {
		out.Columns = append(out.Columns, col.column())
	}
	out.Segments = make([]joincore.Segment, 0, len(c.from.Segments))
	vectors := make([]joincore.Vector, 0, len(c.from.Segments)*len(out.Columns)) // of all segments
	for s := range c.from.Segments {
		from, first := &c.from.Segments[s], len(vectors)
		vectors = append(vectors, from.Columns...)
		for _, col := range c.list {
			v := col.vectors[s]
			if nullable := col.nullable[s].Load(); !nullable {
				v.Validity = nil
			}
			c.memo.computed(&v, col.nullable[s].Load())
			vectors = append(vectors, v)
		}
		out.Segments = append(out.Segments, joincore.Segment{Rows: from.Rows, Columns: vectors[first:len(vectors):len(vectors)]})
	}
	return out, nil
}

// join makes one heap of those of a segment's parts.
func (c *columns) join(ctx context.Context, col *columnOf, mem *joincore.Account, turns device.Turns) error {
	starts := make([]int, len(c.parts))
	ends := make([]int, len(c.from.Segments))
	for i, p := range c.parts {
		starts[i] = ends[p.segment]
		ends[p.segment] += col.texts[i].size
	}
	for s := range col.vectors {
		if uint64(ends[s]) > 1<<32-1 {
			return errHeap
		}
		v := &col.vectors[s]
		var err error
		if v.Heap, err = mem.Alloc(int64(ends[s])); err != nil {
			return err
		}
		binary.LittleEndian.PutUint32(v.Values[4*c.from.Segments[s].Rows:], uint32(ends[s]))
	}
	return c.each(ctx, turns, func(_ context.Context, _, i int) error {
		p := c.parts[i]
		v := &col.vectors[p.segment]
		col.texts[i].move(mem, v.Heap[starts[i]:])
		for row := p.first; row < p.first+p.n; row++ {
			at := v.Values[4*row:]
			binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)+uint32(starts[i]))
		}
		return nil
	})
}

// texts are the values of a part of a column, in memory of the job. They are copied to the
// segment's heap when its size is known.
type texts struct {
	blocks [][]byte // of whole values
	size   int      // of all
}

// add appends a value.
func (t *texts) add(mem *joincore.Account, payload []byte) error {
	size := joincore.TextSize(len(payload), textAlign)
	n := len(t.blocks)
	if n == 0 || cap(t.blocks[n-1])-len(t.blocks[n-1]) < size {
		block, err := mem.Alloc(int64(max(min(firstBlock<<min(n, 16), mostBlock), size)))
		if err != nil {
			return err
		}
		t.blocks = append(t.blocks, block[:0:len(block)])
		n++
	}
	end := len(t.blocks[n-1])
	t.blocks[n-1] = t.blocks[n-1][:end+size]
	joincore.PutText(t.blocks[n-1][end:], payload)
	t.size += size
	return nil
}

// move copies the values to a heap, and frees them.
func (t *texts) move(mem *joincore.Account, heap []byte) {
	for _, b := range t.blocks {
		heap = heap[copy(heap, b):]
		mem.Free(b)
	}
	t.blocks = nil
}

// textAlign is the alignment of columns of texts.
const textAlign = 4
