package cpu

import (
	"context"
	"sync"
	"sync/atomic"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// division assigns the rows of a space to parts, stably, by a radix of their keys.
// Streams count ranges of the rows and then move them; each range has its own places
// in every part, so streams never write to the same place. The part of each row is
// stored when it is counted: keys are hashed once, and an input that changes between
// the two passes cannot make a row leave its place.
type division struct {
	src    *space
	key    *device.Key
	by     radix
	parts  int
	nulls  uint16 // the part of rows with a NULL key; dropped: none
	ranges [][]span
	first  []int      // by range: the number of its first row
	of     []uint16   // by row: its part
	places [][]uint32 // by range and part: the number of rows, then the first one's place
	memory []uint32   // of places
	drops  atomic.Bool
	bounds []int64 // the first place of each part, and the end
}

// dropped is the part of a row that is left out.
const dropped = ^uint16(0)

// mostParts bounds the parts of a division.
const mostParts = 1 << 12

// radix maps keys to parts: by the highest bits of their hash, or by their distance
// from the lowest key.
type radix struct {
	exact bool
	low   uint64 // exact: the lowest key; else the seed of the hash
	shift uint
}

func (x radix) of(parts []uint16, keys []uint64) {
	low, shift := x.low, x.shift&63
	parts = parts[:len(keys)]
	if x.exact {
		for i, k := range keys {
			parts[i] = uint16((k - low) >> shift)
		}
		return
	}
	for i, k := range keys {
		parts[i] = uint16(mix(k^low) >> shift)
	}
}

// divide counts the rows of each part. Rows with a NULL key belong to part nulls. The
// caller must call free.
func (d *dev) divide(ctx context.Context, src *space, key *device.Key, by radix, parts int, nulls uint16) (*division, error) {
	// Each range has at least a few lines of every part.
	const lines = 4 * lineBytes / 8
	v := &division{src: src, key: key, by: by, parts: parts, nulls: nulls, ranges: src.ranges(d.streams*8, lines*parts)}
	if err := v.alloc(d); err != nil {
		v.free()
		return nil, err
	}
	err := d.parallel(ctx, len(v.ranges), func(st *stream, i int) error { return v.count(ctx, st, i) })
	if err != nil {
		v.free()
		return nil, err
	}
	v.assign()
	return v, nil
}

func (v *division) alloc(d *dev) (err error) {
	at := 0
	for _, spans := range v.ranges {
		v.first = append(v.first, at)
		for _, s := range spans {
			at += s.n
		}
	}
	if v.of, err = alloc[uint16](d, at); err != nil {
		return err
	}
	if v.memory, err = alloc[uint32](d, len(v.ranges)*v.parts); err != nil {
		return err
	}
	clear(v.memory)
	for i := range v.ranges {
		v.places = append(v.places, v.memory[i*v.parts:(i+1)*v.parts])
	}
	return nil
}

func (v *division) free() {
	free(v.src.dev, v.of)
	free(v.src.dev, v.memory)
	v.of, v.memory = nil, nil
}

// eachChunk calls f for all rows of a range; of are their parts.
func (v *division) eachChunk(ctx context.Context, st *stream, i int, f func(r *rows, of []uint16) error) error {
	at := v.first[i]
	return st.eachRows(ctx, v.src, v.ranges[i], func(r *rows) error {
		of := v.of[at : at+r.n]
		at += r.n
		return f(r, of)
	})
}

func (v *division) count(ctx context.Context, st *stream, i int) error {
	counts := v.places[i]
	return v.eachChunk(ctx, st, i, func(r *rows, of []uint16) error {
		keys, sel := st.keys.compute(r, v.key, st.dev.inputs)
		if sel == nil && len(keys) == r.n {
			v.by.of(of, keys)
			for _, p := range of {
				if int(p) >= len(counts) {
					return joincore.ErrChanged
				}
				counts[p]++
			}
			return nil
		}
		parts := st.parts[:len(keys)]
		v.by.of(parts, keys)
		for j := range of {
			of[j] = v.nulls
		}
		for j, p := range parts {
			of[sel[j]] = p
			if int(p) >= len(counts) {
				return joincore.ErrChanged
			}
			counts[p]++
		}
		switch left := uint32(r.n - len(keys)); {
		case left == 0:
		case v.nulls == dropped:
			v.drops.Store(true)
		default:
			counts[v.nulls] += left
		}
		return nil
	})
}

// assign turns counts into places.
func (v *division) assign() {
	v.bounds = make([]int64, v.parts+1)
	at := int64(0)
	for part := range v.parts {
		v.bounds[part] = at
		for _, c := range v.places {
			n := c[part]
			c[part] = uint32(at)
			at += int64(n)
		}
	}
	v.bounds[v.parts] = at
}

// total returns the number of rows that belong to a part.
func (v *division) total() int { return int(v.bounds[v.parts]) }

// moved is a chunk on its way to its places.
type moved struct {
	*rows
	keys []uint64 // 0 for NULL
	sel  []uint32 // the rows that are moved; nil: all
	of   []uint16 // their parts
}

// move calls begin for each run of ranges that one stream moves, and what that returns
// for each chunk, whose rows then have places in w. Within a run, the places of a part
// continue from range to range, so only its first and last lines are written in pieces.
func (v *division) move(ctx context.Context, columns int, begin func(w *writer) func(*stream, *moved)) error {
	d, todo := v.src.dev, dealer{taken: make([]bool, len(v.ranges))}
	return d.parallel(ctx, min(d.streams, len(v.ranges)), func(st *stream, _ int) error {
		w, err := st.writerOf(v.parts, columns)
		if err != nil {
			return err
		}
		var put func(*stream, *moved)
		last := -2
		for {
			i, ok := todo.next(last)
			if i != last+1 || !ok {
				w.flush()
			}
			if !ok {
				return nil
			}
			if i != last+1 {
				w.start(v.places[i])
				put = begin(w)
			}
			if err := v.moveRange(ctx, st, w, i, put); err != nil {
				return err
			}
			last = i
		}
	})
}

func (v *division) moveRange(ctx context.Context, st *stream, w *writer, i int, put func(*stream, *moved)) error {
	return v.eachChunk(ctx, st, i, func(r *rows, of []uint16) error {
		keys, sel := st.keys.compute(r, v.key, st.dev.inputs)
		m := v.chunk(st, r, of, keys, sel)
		w.place(m.of)
		put(st, &m)
		return nil
	})
}

// chunk selects the rows that are moved. The parts decide, not the keys, which may have
// changed since they were counted.
func (v *division) chunk(st *stream, r *rows, of []uint16, keys []uint64, sel []uint32) moved {
	if len(keys) < r.n {
		all := st.v64[:r.n]
		clear(all)
		for i, row := range sel {
			all[row] = keys[i]
		}
		keys = all
	}
	if !v.drops.Load() {
		return moved{rows: r, keys: keys, of: of}
	}
	m := moved{rows: r, keys: st.v64, sel: st.sel, of: st.parts}
	n := 0
	for i, p := range of {
		m.keys[n], m.sel[n], m.of[n] = keys[i], uint32(i), p
		if p != dropped {
			n++
		}
	}
	m.keys, m.sel, m.of = m.keys[:n], m.sel[:n], m.of[:n]
	return m
}

// dealer deals numbered tasks to workers so that each gets runs of consecutive ones: where a
// worker goes on with the next number, it keeps what it has in buffers.
type dealer struct {
	lock  sync.Mutex
	taken []bool
}

// next returns the next task of a worker, and whether there is one. last is its last task,
// or -2 if it had none. A worker that cannot go on begins a run in the middle of the
// longest gap, since another one works towards its beginning.
func (d *dealer) next(last int) (task int, ok bool) {
	d.lock.Lock()
	defer d.lock.Unlock()
	task = last + 1
	if last < 0 || task == len(d.taken) || d.taken[task] {
		task, ok = d.begin()
		if !ok {
			return 0, false
		}
	}
	d.taken[task] = true
	return task, true
}

// begin returns where a new run begins.
func (d *dealer) begin() (task int, ok bool) {
	longest, from := 0, 0
	for i, taken := range d.taken {
		if taken {
			from = i + 1
			continue
		}
		if n := i + 1 - from; n > longest {
			longest, task = n, from
		}
	}
	if task > 0 {
		task += longest / 2
	}
	return task, longest > 0
}
