package multi

import (
	"context"
	"encoding/binary"

	"gpujoin/joincore"
)

// side is the rows that an exchange moves: of one side of a join, or of an aggregate.
type side struct {
	node  joincore.Node
	table *table
	need  columns // that are read after the exchange
	key   []keyColumn
	// groups says that NULLs are equal, as the keys of groups are; otherwise a row
	// with a NULL in its key has no partner.
	groups bool
	keep   bool // rows without a partner are returned
	copy   bool // rows may be on several members

	// What the first pass has found, by member.
	partition [][]byte    // of each row, 2 bytes
	counts    [][]int64   // rows of each partition, and behind them those without a key
	heap      [][][]int64 // bytes of each column of variable length, by partition
}

// mostPartitions bounds the number of partitions, so that one more fits 2 bytes and the
// assignment takes little time.
const mostPartitions = 1 << 12

// chunk is how many rows a pass handles between two looks at the context.
const chunk = 1 << 12

// hash is the first pass: it computes the partition of each row and counts rows. The
// partition is in the lowest bits of the hash. What members partition and group by is in the
// highest bits of theirs, so that the rows of few partitions here fill all of the members' own.
func (s *side) hash(partitions int) error {
	x := s.table.x
	n := x.members()
	s.partition, s.counts, s.heap = make([][]byte, n), make([][]int64, n), make([][][]int64, n)
	return x.each(func(ctx context.Context, m int) error {
		r := s.table.parts[m]
		s.counts[m] = make([]int64, partitions+1)
		s.heap[m] = make([][]int64, len(s.need))
		for i, c := range s.need {
			if x.schema.Column(c).Kind == joincore.Varlena {
				s.heap[m][i] = make([]int64, partitions+1)
			}
		}
		rows := r.Rows()
		if rows == 0 {
			return nil
		}
		var err error
		if s.partition[m], err = x.mem.Alloc(2 * rows); err != nil {
			return err
		}
		return x.turn(ctx, func() error { return s.hashRows(ctx, m, partitions) })
	})
}

func (s *side) hashRows(ctx context.Context, m, partitions int) error {
	x := s.table.x
	hashes := make([]uint64, chunk)
	var nulls []bool
	if !s.groups {
		nulls = make([]bool, chunk)
	}
	before := 0
	r := s.table.parts[m]
	for i := range r.Segments {
		segment := &r.Segments[i]
		for first := 0; first < segment.Rows; first += chunk {
			if err := x.pause(ctx); err != nil {
				return err
			}
			n := min(chunk, segment.Rows-first)
			s.hashChunk(segment, first, hashes[:n], nulls)
			part := s.partition[m][2*(before+first):]
			for j, h := range hashes[:n] {
				p := int(h & uint64(partitions-1))
				if nulls != nil && nulls[j] {
					p = partitions
				}
				part[2*j], part[2*j+1] = byte(p), byte(p>>8)
				s.counts[m][p]++
			}
			s.measure(m, segment, first, part[:2*n])
		}
		before += segment.Rows
	}
	return nil
}

func (s *side) hashChunk(segment *joincore.Segment, first int, hashes []uint64, nulls []bool) {
	x := s.table.x
	for i := range hashes {
		hashes[i] = x.seed
	}
	clear(nulls)
	for _, k := range s.key {
		at := s.table.at(k.ref)
		hashColumn(&segment.Columns[at], x.schema.Column(k.ref), k.class == joincore.KeyInt, first, hashes, nulls)
	}
	if x.opt.Device.Collide {
		for i := range hashes {
			hashes[i] &= 3
		}
	}
}

// measure adds up the heap bytes of rows by their partitions.
func (s *side) measure(m int, segment *joincore.Segment, first int, part []byte) {
	for i, heap := range s.heap[m] {
		if heap == nil {
			continue
		}
		v := &segment.Columns[s.table.at(s.need[i])]
		for j := range len(part) / 2 {
			if !v.Null(first + j) {
				heap[partitionAt(part, j)] += int64(len(v.Variable(first + j)))
			}
		}
	}
}

func partitionAt(part []byte, row int) int { return int(part[2*row]) | int(part[2*row+1])<<8 }

// forget frees what the first pass has found.
func (s *side) forget() {
	for m, b := range s.partition {
		if b != nil {
			s.table.x.mem.Free(b)
			s.partition[m] = nil
		}
	}
}

// histogram returns the rows of each partition by member, without those that have no key.
func (s *side) histogram(partitions int) [][]int64 {
	out := make([][]int64, len(s.counts))
	for m := range out {
		out[m] = s.counts[m][:partitions]
	}
	return out
}

// width returns the mean bytes of a row, at least 1.
func (s *side) width() int64 {
	width, rows, bytes := int64(1), int64(1), int64(0)
	for i, c := range s.need {
		width += int64(s.table.x.schema.Column(c).Width)
		for m := range s.heap {
			for _, b := range s.heap[m][i] {
				bytes += b
			}
		}
	}
	for m := range s.counts {
		for _, n := range s.counts[m] {
			rows += n
		}
	}
	return width + bytes/rows
}

// keyColumn is a column of a key.
type keyColumn struct {
	ref   joincore.ColumnRef
	class joincore.KeyClass
}

// integer reads a signed integer of 1, 2, 4 or 8 bytes.
func integer(values []byte, width, row int) uint64 {
	switch width {
	case 1:
		return uint64(int64(int8(values[row])))
	case 2:
		return uint64(int64(int16(binary.LittleEndian.Uint16(values[2*row:]))))
	case 4:
		return uint64(int64(int32(binary.LittleEndian.Uint32(values[4*row:]))))
	}
	return binary.LittleEndian.Uint64(values[8*row:])
}

// payload returns a value without its header: equal values may have different headers.
// A value that has none, or a wrong one, has no payload.
func payload(value []byte) []byte {
	p, err := joincore.TextPayload(value)
	if err != nil {
		return nil
	}
	return p
}

// nullWord stands for NULL in a hash. A value may have the same hash.
const nullWord = 0xC2B2AE3D27D4EB4F

// hashColumn adds a column of rows [first, first+len(hashes)) of a segment to their hashes.
// Rows in which it is NULL are marked in nulls, if that is not nil; otherwise NULLs are
// equal values.
func hashColumn(v *joincore.Vector, c joincore.Column, integers bool, first int, hashes []uint64, nulls []bool) {
	for i := range hashes {
		row := first + i
		switch {
		case v.Null(row):
			if nulls != nil {
				nulls[i] = true
			}
			hashes[i] = joincore.HashWord(hashes[i], nullWord)
		case c.Kind == joincore.Varlena:
			hashes[i] = joincore.HashBytes(hashes[i], payload(v.Variable(row)))
		case integers:
			hashes[i] = joincore.HashWord(hashes[i], integer(v.Values, c.Width, row))
		default:
			hashes[i] = joincore.HashBytes(hashes[i], v.Values[c.Width*row:c.Width*(row+1)])
		}
	}
}
