package exchange

// bitWriter appends values of some bits each.
type bitWriter struct {
	dst  []byte
	word byte
	used int // bits of word
}

func (w *bitWriter) put(x uint64, width int) {
	for width > 0 {
		n := min(width, 8-w.used)
		w.word |= byte(x&ones(n)) << w.used
		x, width = x>>n, width-n
		if w.used += n; w.used == 8 {
			w.dst, w.word, w.used = append(w.dst, w.word), 0, 0
		}
	}
}

// flush ends the last byte.
func (w *bitWriter) flush() {
	if w.used > 0 {
		w.dst, w.word, w.used = append(w.dst, w.word), 0, 0
	}
}

// bitReader takes such values back. The caller knows that there are enough.
type bitReader struct {
	src []byte
	bit int
}

func (r *bitReader) take(width int) uint64 {
	var x uint64
	for have := 0; have < width; {
		n := min(width-have, 8-r.bit%8)
		x |= uint64(r.src[r.bit/8]>>(r.bit%8)) & ones(n) << have
		r.bit += n
		have += n
	}
	return x
}
