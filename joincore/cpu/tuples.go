package cpu

import (
	"sync"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

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
