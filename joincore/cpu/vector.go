package cpu

// vector holds the values of an expression for the rows of a chunk. All are
// integers, or all are bytes.
type vector struct {
	n  int
	lo []int64 // integers, or their low 64 bits; 0 where NULL
	hi []int64 // the high 64 bits, where wide; 0 where NULL
	// bytes are payloads, which lie in the inputs or in the expression; nil
	// where NULL.
	bytes [][]byte
	nulls []uint8 // 1: NULL; meaningless unless nullable

	wide     bool // some integers need more than 64 bits
	text     bool // bytes
	nullable bool // some values may be NULL
	all      bool // all values are NULL, of either type
}

// newVector returns a vector for at most capacity rows.
func newVector(capacity int) *vector {
	return &vector{lo: make([]int64, capacity), nulls: make([]uint8, capacity)}
}

// ints makes v a vector of n integers of unspecified value, none of them NULL.
func (v *vector) ints(n int) {
	v.n, v.wide, v.text, v.nullable, v.all = n, false, false, false, false
}

// widen makes the integers of v 128 bits wide.
func (v *vector) widen() {
	if v.wide {
		return
	}
	v.wide = true
	lo, hi := v.lo[:v.n], v.highs()
	for i, x := range lo {
		hi[i] = x >> 63
	}
}

// highs returns memory for the high words.
func (v *vector) highs() []int64 {
	if v.hi == nil {
		v.hi = make([]int64, cap(v.lo))
	}
	return v.hi[:v.n]
}

// narrow makes the integers of v 64 bits wide if all of them fit, and says
// whether they do.
func (v *vector) narrow() bool {
	if !v.wide {
		return true
	}
	lo, hi := v.lo[:v.n], v.hi[:v.n]
	var differ int64
	for i, x := range lo {
		differ |= hi[i] ^ x>>63
	}
	v.wide = differ != 0
	return !v.wide
}

// strings makes v a vector of n strings of bytes, none of them NULL.
func (v *vector) strings(n int) [][]byte {
	v.ints(n)
	v.text = true
	if v.bytes == nil {
		v.bytes = make([][]byte, cap(v.lo))
	}
	return v.bytes[:n]
}

// allNull makes v a vector of n NULLs.
func (v *vector) allNull(n int) {
	v.ints(n)
	v.nullable, v.all = true, true
	clear(v.lo[:n])
	for i := range v.nulls[:n] {
		v.nulls[i] = 1
	}
}

// null says whether a value is NULL.
func (v *vector) null(i int) bool { return v.nullable && v.nulls[i] != 0 }

// canonical sets what is NULL to 0, so that arithmetic on it cannot fail.
func (v *vector) canonical() {
	if !v.nullable {
		return
	}
	nulls := v.nulls[:v.n]
	lo := v.lo[:len(nulls)]
	for i, x := range nulls {
		lo[i] &= int64(x) - 1
	}
	if v.wide {
		hi := v.hi[:len(nulls)]
		for i, x := range nulls {
			hi[i] &= int64(x) - 1
		}
	}
}

// addNulls makes NULL what is NULL in b, which has the same length.
func (v *vector) addNulls(b *vector) {
	if !b.nullable {
		return
	}
	nulls, more := v.nulls[:v.n], b.nulls[:v.n]
	if !v.nullable {
		v.nullable = true
		copy(nulls, more)
		return
	}
	for i := range nulls {
		nulls[i] |= more[i]
	}
}

// put writes the values of from to the chosen rows of v, which begins as
// allNull. sel nil: to all rows.
func (v *vector) put(sel []uint32, from *vector) {
	if from.all {
		return // as v begins
	}
	if sel == nil {
		v.copy(from)
		return
	}
	if v.all {
		v.all = false
		if from.text {
			clear(v.strings(v.n))
			v.nullable = true
		}
	}
	for j, i := range sel {
		v.nulls[i] = 0
		if from.null(j) {
			v.nulls[i] = 1
		}
	}
	if from.text {
		for j, i := range sel {
			v.bytes[i] = from.bytes[j]
		}
		return
	}
	for j, i := range sel {
		v.lo[i] = from.lo[j]
	}
	if from.wide {
		v.widen()
	}
	if v.wide {
		for j, i := range sel {
			v.hi[i] = from.lo[j] >> 63
			if from.wide {
				v.hi[i] = from.hi[j]
			}
		}
	}
}

// copy makes v equal to from.
func (v *vector) copy(from *vector) {
	if from.text {
		copy(v.strings(from.n), from.bytes)
	} else {
		v.ints(from.n)
		copy(v.lo[:v.n], from.lo)
		if from.wide {
			v.wide = true
			copy(v.highs(), from.hi)
		}
	}
	v.nullable, v.all = from.nullable, from.all
	if v.nullable {
		copy(v.nulls[:v.n], from.nulls)
	}
}

// pool lends objects in the order of a stack, and makes those that it lacks.
type pool[T any] struct {
	items []T
	used  int
}

// take lends an object until drop.
func (p *pool[T]) take(make func() T) T {
	if p.used == len(p.items) {
		p.items = append(p.items, make())
	}
	p.used++
	return p.items[p.used-1]
}

// drop takes back the n objects that were lent last.
func (p *pool[T]) drop(n int) { p.used -= n }

// registers are what a stream lends to the evaluation of expressions: values,
// truth values, and subsets of chunks. They are as many as expressions are
// deep, and as long as chunks.
type registers struct {
	values  pool[*vector]
	truths  pool[*truths]
	subsets pool[*subset]
}

// subset is some rows of a chunk.
type subset struct {
	sel  []uint32 // their numbers in the chunk
	rows *rows
}

func (st *stream) takeVector() *vector {
	return st.registers.values.take(func() *vector { return newVector(st.dev.chunk) })
}

func (st *stream) takeTruth() *truths {
	return st.registers.truths.take(func() *truths { return newTruths(st.dev.chunk) })
}

// takeSubset returns the rows of r whose bits are set. It clears the bits behind them.
func (st *stream) takeSubset(r *rows, mask []uint64) *subset {
	s := st.registers.subsets.take(func() *subset {
		return &subset{sel: make([]uint32, st.dev.chunk+pad), rows: newRows(st.dev.chunk)}
	})
	sel := s.sel[:cap(s.sel)]
	s.sel = sel[:expand(sel, mask, r.n, 0)]
	s.rows.take(r, s.sel, len(s.sel))
	return s
}

// drop takes back the registers that were taken last.
func (st *stream) drop(vectors, truths, subsets int) {
	st.registers.values.drop(vectors)
	st.registers.truths.drop(truths)
	st.registers.subsets.drop(subsets)
}
