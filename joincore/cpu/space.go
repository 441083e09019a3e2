package cpu

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// none is the position of a missing row: the NULL side of an outer join.
const none = ^uint32(0)

// space is a set of rows in segments. A row's position is segment<<shift | its number
// in the segment, so that finding a value needs no search.
type space struct {
	dev   *dev
	shift uint
	rows  []int // of each segment

	input   int // the plan input if this is its base relation, else -1
	columns []*column
	carried map[joincore.ColumnRef]*column
	ids     map[int]*column // row numbers of inputs

	key     *device.Key // the key whose values are in keys
	keys    *column
	keyNull *column // per row: 1 where the key is NULL; nil: no such rows

	ranged  map[*device.Key]device.KeyRange
	marks   marks
	tuples  *tuples  // set if this space is Tuples
	bounds  []int64  // set if this space is Partitions
	keyed   int      // if this space is Sorted: rows whose key is not NULL
	repeats bool     // and whether some keys are equal
	release []func() // frees the memory
}

// Segments returns the segments, all on the host.
func (s *space) Segments() []device.Segment {
	out := make([]device.Segment, len(s.rows))
	for i, n := range s.rows {
		out[i] = device.Segment{Rows: n, At: device.Host}
	}
	return out
}

func (s *space) Release() {
	for _, f := range s.release {
		f()
	}
	s.release = nil
}

// positions returns the highest position plus 1.
func (s *space) positions() int {
	if len(s.rows) == 0 {
		return 0
	}
	last := len(s.rows) - 1
	return last<<s.shift + s.rows[last]
}

func (s *space) total() int {
	n := 0
	for _, r := range s.rows {
		n += r
	}
	return n
}

// column is the data of one column of a space, one slice per segment. Only the
// slices of its width are set.
type column struct {
	kind  joincore.ColumnKind
	width int // bytes of a value; 4 for the offsets of Varlena
	align int
	v8    [][]uint8
	v16   [][]uint16
	v32   [][]uint32
	v64   [][]uint64 // width / 8 words per value
	heap  [][]byte
	bits  [][]byte  // validity bitmaps, nil for segments without NULLs; nil: no NULLs at all
	flags [][]uint8 // validity as bytes, 1: not NULL; nil: no NULLs
}

func (c *column) nullable() bool { return c.bits != nil || c.flags != nil }

// valid reports whether a value is not NULL.
func (c *column) valid(segment, row uint32) bool {
	if c.flags != nil {
		return c.flags[segment][row] != 0
	}
	if c.bits == nil || c.bits[segment] == nil {
		return true
	}
	return c.bits[segment][row/8]>>(row%8)&1 != 0
}

// varlena returns the bytes of a value.
func (c *column) varlena(segment, row uint32) []byte {
	offsets := c.v32[segment]
	return joincore.HeapSpan(c.heap[segment], offsets[row], offsets[row+1])
}

// Import describes the vectors of a relation without copying. ErrInvalid if a vector
// is too short.
func (d *dev) Import(input int, r *joincore.Relation) (device.Space, error) {
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("input %d: %w", input, err)
	}
	s := &space{dev: d, input: input}
	largest := 1
	for i := range r.Segments {
		n := r.Segments[i].Rows
		s.rows = append(s.rows, n)
		largest = max(largest, n)
	}
	s.shift = uint(bits.Len(uint(largest - 1)))
	if s.positions() >= int(none) {
		return nil, fmt.Errorf("input %d has more rows than row ids can address: %w", input, joincore.ErrUnsupported)
	}
	for j, described := range r.Columns {
		s.columns = append(s.columns, importColumn(r, j, described))
	}
	d.setInput(input, s)
	return s, nil
}

// newColumn returns a column without segments.
func newColumn(described joincore.Column) *column {
	return &column{kind: described.Kind, width: described.StoredWidth(), align: max(described.Align, 1)}
}

func importColumn(r *joincore.Relation, j int, described joincore.Column) *column {
	c := newColumn(described)
	for i := range r.Segments {
		v, values := &r.Segments[i].Columns[j], r.Segments[i].Rows
		if c.kind == joincore.Varlena {
			values++
			c.heap = append(c.heap, v.Heap)
		}
		c.addSegment(v.Values[: values*c.width : values*c.width])
		if v.Validity == nil {
			continue
		}
		if c.bits == nil {
			c.bits = make([][]byte, len(r.Segments))
		}
		c.bits[i] = v.Validity
	}
	return c
}

func (c *column) addSegment(values []byte) {
	switch c.width {
	case 1:
		c.v8 = append(c.v8, view[uint8](values))
	case 2:
		c.v16 = append(c.v16, view[uint16](values))
	case 4:
		c.v32 = append(c.v32, view[uint32](values))
	default:
		c.v64 = append(c.v64, view[uint64](values))
	}
}

// marks records which build rows have found a partner, one bit per position.
type marks struct {
	once sync.Once
	err  error
	bits []uint32
}

// needMarks allocates the marks of the build rows of a match that sets some, once for all
// streams.
func (s *space) needMarks(match *device.Match) error {
	if !match.Mark {
		return nil
	}
	m := &s.marks
	m.once.Do(func() {
		var b []uint32
		if b, m.err = alloc[uint32](s.dev, s.positions()/32+1); m.err != nil {
			return
		}
		clear(b)
		m.bits = b
		s.release = append(s.release, func() { free(s.dev, b) })
	})
	return m.err
}

// set marks a position; it is safe to call from several streams.
func (m *marks) set(p uint32) {
	w, bit := &m.bits[p/32], uint32(1)<<(p%32)
	if atomic.LoadUint32(w)&bit == 0 {
		atomic.OrUint32(w, bit)
	}
}

func (m *marks) has(p uint32) bool {
	return m.bits != nil && atomic.LoadUint32(&m.bits[p/32])>>(p%32)&1 != 0
}

// Tuples grow by blocks, each filled by one stream. The first ones are small, so that
// a short result is cheap.
const (
	blockShift = 16
	blockRows  = 1 << blockShift
	firstBlock = 1 << 12
)

// tuples is the growing part of a space of row ids.
type tuples struct {
	space  *space
	inputs []int
	lock   sync.Mutex
}

func (d *dev) NewTuples(inputs []int, key *device.Key) (device.Tuples, error) {
	s := &space{dev: d, input: -1, shift: blockShift, ids: map[int]*column{}}
	for _, i := range inputs {
		s.ids[i] = &column{kind: joincore.Fixed, width: 4}
	}
	if key != nil {
		s.key = key
		s.keys = &column{kind: joincore.Fixed, width: 8}
		s.keyNull = &column{kind: joincore.Fixed, width: 1}
	}
	s.tuples = &tuples{space: s, inputs: inputs}
	return s, nil
}

// appender is a stream's current block of some tuples.
type appender struct {
	keyer keyer
	block int
	n     int // rows in the block
	room  int
	size  int // of its next block
	ids   [][]uint32
	keys  []uint64
	null  []uint8
}

// Append copies row ids, and computes keys while their columns are in the cache.
func (st *stream) Append(r device.Rows, t device.Tuples) error {
	s, in := asSpace(t), r.(*rows)
	a := st.appends[s.tuples]
	if a == nil {
		a = &appender{size: firstBlock}
		if s.key != nil {
			a.keyer.init(st)
		}
		st.appends[s.tuples] = a
	}
	var keys []uint64
	var sel []uint32
	if s.key != nil {
		keys, sel = a.keyer.compute(in, s.key, st.dev.inputs)
	}
	for from := 0; from < in.n; {
		if a.room == 0 {
			if err := s.tuples.open(a); err != nil {
				return err
			}
		}
		n := min(in.n-from, a.room)
		for i, input := range s.tuples.inputs {
			in.copyIDs(a.ids[i][a.n:a.n+n], input, from, st.dev.inputs)
		}
		if s.key != nil {
			a.appendKeys(keys, sel, from, n)
		}
		a.n, a.room, from = a.n+n, a.room-n, from+n
		s.tuples.lock.Lock()
		s.rows[a.block] = a.n
		s.tuples.lock.Unlock()
	}
	return nil
}

// open gives a stream a new block.
func (t *tuples) open(a *appender) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	s := t.space
	if len(s.rows) >= 1<<(32-blockShift)-1 {
		return errTooMany
	}
	block := len(s.rows)
	a.ids = a.ids[:0]
	for _, input := range t.inputs {
		c := s.ids[input]
		if err := s.addBlock(c, a.size); err != nil {
			return err
		}
		a.ids = append(a.ids, c.v32[block])
	}
	if s.key != nil {
		if err := s.addBlock(s.keys, a.size); err != nil {
			return err
		}
		if err := s.addBlock(s.keyNull, a.size); err != nil {
			return err
		}
		a.keys, a.null = s.keys.v64[block], s.keyNull.v8[block]
	}
	s.rows = append(s.rows, 0)
	a.block, a.n, a.room = block, 0, a.size
	a.size = min(2*a.size, blockRows)
	return nil
}

// addBlock adds a segment of n rows, which the space owns, to a column of fixed width.
func (s *space) addBlock(c *column, n int) error {
	b, err := alloc[uint8](s.dev, n*c.width)
	if err != nil {
		return err
	}
	s.release = append(s.release, func() { free(s.dev, b) })
	c.addSegment(b)
	return nil
}

// appendKeys writes the keys of rows [from, from+n).
func (a *appender) appendKeys(keys []uint64, sel []uint32, from, n int) {
	dst, null := a.keys[a.n:a.n+n], a.null[a.n:a.n+n]
	if sel == nil && len(keys) >= from+n {
		clear(null)
		copy(dst, keys[from:])
		return
	}
	for i := range null {
		null[i], dst[i] = 1, 0
	}
	for i, row := range sel {
		if at := int(row) - from; at >= 0 && at < n {
			null[at], dst[at] = 0, keys[i]
		}
	}
}
