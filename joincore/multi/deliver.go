package multi

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/exchange/live"
)

// delivery is the second pass of an exchange and the exchange of the rows of one side.
type delivery struct {
	*side
	columns []joincore.Column
	// block is the number of the block of each partition of a member, or -1.
	block  [][]int
	blocks [][]*block // by the member that has the rows
	rows   []Rows     // what each member will have; nil: nothing
	sent   []Rows     // what it only sends; nil: nothing
	// place is where the blocks of each member are in the rows of each other one.
	place []map[*block]int64
}

// deliver sends the rows of each partition to where the assignment wants them:
// to[partition][member] is a set of members. Rows without a key stay where they are.
func (s *side) deliver(to [][]uint64) (_ *table, err error) {
	x := s.table.x
	n := x.members()
	d := &delivery{side: s, block: make([][]int, n), blocks: make([][]*block, n), rows: make([]Rows, n), sent: make([]Rows, n)}
	for _, c := range s.need {
		d.columns = append(d.columns, x.schema.Column(c))
	}
	for m := range n {
		if err := d.plan(m, to); err != nil {
			return nil, err
		}
	}
	defer func() {
		free(d.sent)
		if err != nil {
			free(d.rows)
		}
	}()
	if err := d.allocate(); err != nil {
		return nil, err
	}
	if err := x.each(d.write); err != nil {
		return nil, err
	}
	sent, err := live.Exchange(x.ctx, x.p.group, *x.p.opt.Exchange, d.runs())
	if err != nil {
		return nil, err
	}
	x.exchanged.Add(sent)
	if err := x.each(d.fetch); err != nil {
		return nil, err
	}
	s.forget()
	s.table.free()
	return x.newTable(s.need, d.relations(), func() { free(d.rows) }), nil
}

// plan makes the blocks of one member.
func (d *delivery) plan(m int, to [][]uint64) error {
	of := map[uint64]*block{}
	partitions := make([]*block, len(d.counts[m]))
	for p, rows := range d.counts[m] {
		set := d.destinations(m, p, to)
		if set == 0 || rows == 0 {
			continue
		}
		b := of[set]
		if b == nil {
			b = &block{from: m, set: set, heap: make([]int64, len(d.need))}
			of[set] = b
			d.blocks[m] = append(d.blocks[m], b)
		}
		partitions[p] = b
		b.rows += rows
		for i, heap := range d.heap[m] {
			if heap != nil {
				b.heap[i] += heap[p]
			}
		}
	}
	d.block[m] = make([]int, len(partitions))
	for p, b := range partitions {
		d.block[m][p] = slices.Index(d.blocks[m], b)
	}
	nullable := d.nullable(m)
	for _, b := range d.blocks[m] {
		if err := b.lay(d.columns, nullable); err != nil {
			return err
		}
	}
	return nil
}

// destinations returns the set of members that get a partition of a member. The last one
// has the rows without a key.
func (d *delivery) destinations(m, partition int, to [][]uint64) uint64 {
	switch {
	case partition < len(to):
		return to[partition][m]
	case d.keep:
		return 1 << m
	}
	return 0
}

// nullable says which columns of a member may be NULL.
func (d *delivery) nullable(m int) []bool {
	out := make([]bool, len(d.need))
	for i, c := range d.need {
		at := d.table.at(c)
		out[i] = slices.ContainsFunc(d.table.parts[m].Segments, func(s joincore.Segment) bool { return s.Columns[at].Validity != nil })
	}
	return out
}

// allocate finds a place for each block at its own member and at those that get it.
func (d *delivery) allocate() error {
	x := d.table.x
	n := x.members()
	have, send := make([]int64, n), make([]int64, n)
	d.place = make([]map[*block]int64, n)
	for m := range n {
		d.place[m] = map[*block]int64{}
	}
	for m, list := range d.blocks {
		for _, b := range list {
			for s := b.set; s != 0; s &= s - 1 {
				to := bits.TrailingZeros64(s)
				d.place[to][b] = have[to]
				have[to] += b.bytes
			}
			if b.local() {
				b.at = d.place[m][b]
			} else {
				b.at = send[m]
				send[m] += b.bytes
			}
		}
	}
	for m := range n {
		for _, of := range []struct {
			rows  []Rows
			bytes int64
		}{{d.rows, have[m]}, {d.sent, send[m]}} {
			if of.bytes == 0 {
				continue
			}
			var err error
			if of.rows[m], err = x.p.group.Rows(x.mem, m, of.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

func free(list []Rows) {
	for i, r := range list {
		if r != nil {
			r.Free()
			list[i] = nil
		}
	}
}

// home returns the memory that has a block at its own member.
func (d *delivery) home(b *block) Rows {
	if b.local() {
		return d.rows[b.from]
	}
	return d.sent[b.from]
}

// write is the second pass over the rows of one member.
func (d *delivery) write(ctx context.Context, m int) error {
	x := d.table.x
	if len(d.blocks[m]) == 0 {
		return nil
	}
	s := &scatter{x: x, from: d.table.parts[m], partition: d.partition[m], block: d.block[m], next: make([]int, len(d.blocks[m]))}
	for _, b := range d.blocks[m] {
		s.to = append(s.to, b.segment(d.columns, d.home(b).Bytes()[b.at:b.at+b.bytes]))
	}
	err := x.turn(ctx, func() error {
		for i, c := range d.need {
			if err := s.column(ctx, d.columns[i], d.table.at(c), i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, b := range d.blocks[m] {
		if b.set != 1<<m {
			if err := d.home(b).Upload(ctx, b.at, b.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

// runs lists what travels.
func (d *delivery) runs() []live.Run {
	var list []live.Run
	for m, blocks := range d.blocks {
		for _, b := range blocks {
			for s := b.set &^ (1 << m); s != 0; s &= s - 1 {
				to := bits.TrailingZeros64(s)
				list = append(list, live.Run{
					From: m, To: to, Bytes: b.bytes,
					Source: live.Place{Buffer: d.home(b).Buffer(), Offset: b.at},
					Target: live.Place{Buffer: d.rows[to].Buffer(), Offset: d.place[to][b]},
				})
			}
		}
	}
	return list
}

// fetch makes what a member has received visible.
func (d *delivery) fetch(ctx context.Context, m int) error {
	for b, at := range d.place[m] {
		if b.from != m {
			if err := d.rows[m].Download(ctx, at, b.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

// relations returns what the members have now.
func (d *delivery) relations() []*joincore.Relation {
	out := make([]*joincore.Relation, len(d.rows))
	for m := range out {
		out[m] = &joincore.Relation{Columns: d.columns}
	}
	for _, blocks := range d.blocks {
		for _, b := range blocks {
			for s := b.set; s != 0; s &= s - 1 {
				to := bits.TrailingZeros64(s)
				at := d.place[to][b]
				out[to].Segments = append(out[to].Segments, b.segment(d.columns, d.rows[to].Bytes()[at:at+b.bytes]))
			}
		}
	}
	return out
}

// scatter is the second pass over the rows of one member: it writes them to blocks.
type scatter struct {
	x         *coordinator
	from      *joincore.Relation
	partition []byte // of each row
	block     []int  // of each partition: the number of its block, or -1
	to        []joincore.Segment
	next      []int // rows written to each block
}

// column writes a column, which is at a position of the source and of the blocks.
func (s *scatter) column(ctx context.Context, c joincore.Column, from, to int) error {
	clear(s.next)
	w := columnWriter{column: c, to: make([]*joincore.Vector, len(s.to)), used: make([]int, len(s.to))}
	for i := range s.to {
		v := &s.to[i].Columns[to]
		w.to[i] = v
		clear(v.Validity)
		if c.Kind == joincore.Varlena {
			clear(v.Values[:4])
		}
	}
	before := 0
	for i := range s.from.Segments {
		segment := &s.from.Segments[i]
		v := &segment.Columns[from]
		for first := 0; first < segment.Rows; first += chunk {
			if err := s.x.pause(ctx); err != nil {
				return err
			}
			for row := first; row < min(first+chunk, segment.Rows); row++ {
				b := s.block[partitionAt(s.partition, before+row)]
				if b < 0 {
					continue
				}
				if err := w.write(b, s.next[b], v, row); err != nil {
					return err
				}
				s.next[b]++
			}
		}
		before += segment.Rows
	}
	return nil
}

// columnWriter writes values of one column.
type columnWriter struct {
	column joincore.Column
	to     []*joincore.Vector // by block
	used   []int              // heap bytes of each block
}

// write writes a value of v as row at of a block.
func (w *columnWriter) write(block, at int, v *joincore.Vector, row int) error {
	to := w.to[block]
	isNull := v.Null(row)
	if !isNull && to.Validity != nil {
		to.Validity[at/8] |= 1 << (at % 8)
	}
	switch width := w.column.Width; {
	case w.column.Kind == joincore.Varlena:
		if !isNull {
			value := v.Variable(row)
			if len(value) > len(to.Heap)-w.used[block] {
				return errChanged
			}
			w.used[block] += copy(to.Heap[w.used[block]:], value)
		}
		binary.LittleEndian.PutUint32(to.Values[4*at+4:], uint32(w.used[block]))
	case width == 8:
		binary.LittleEndian.PutUint64(to.Values[8*at:], binary.LittleEndian.Uint64(v.Values[8*row:]))
	case width == 4:
		binary.LittleEndian.PutUint32(to.Values[4*at:], binary.LittleEndian.Uint32(v.Values[4*row:]))
	default:
		copy(to.Values[width*at:width*(at+1)], v.Values[width*row:width*(row+1)])
	}
	return nil
}

// errChanged says that values became longer between the two passes.
var errChanged = fmt.Errorf("values have changed while they were read: %w", joincore.ErrInvalid)
