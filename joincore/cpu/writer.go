package cpu

// writer writes the rows of consecutive ranges to their places, through a buffer of one cache
// line for each part and column: a part's place in memory is touched once a line, not
// once a row (software write-combining; Balkesen et al., ICDE 2013). Streams reuse it.
type writer struct {
	dev     *dev
	begin   []uint32 // by part: its first place in these ranges
	next    []uint32 // and where its next row goes
	to      []uint32 // by row of the chunk: its place
	of      []uint16 // and its part
	buffers [][]uint64
	used    int
	columns []interface{ flush(begin, next []uint32) }
}

// lineBytes is the size of a cache line.
const lineBytes = 64

// writerOf returns the stream's writer for the given number of parts and columns.
func (st *stream) writerOf(parts, columns int) (*writer, error) {
	w := &st.writer
	w.dev = st.dev
	for len(w.buffers) < columns {
		b, err := alloc[uint64](st.dev, parts*lineBytes/8)
		if err != nil {
			return nil, err
		}
		w.buffers = append(w.buffers, b)
	}
	if len(w.begin) != parts {
		w.begin, w.next = make([]uint32, parts), make([]uint32, parts)
	}
	if w.to == nil {
		w.to = make([]uint32, st.dev.chunk)
	}
	return w, nil
}

func (w *writer) free() {
	for _, b := range w.buffers {
		free(w.dev, b)
	}
	w.buffers, w.columns = nil, nil
}

// start begins at the given places.
func (w *writer) start(places []uint32) {
	copy(w.begin, places)
	copy(w.next, places)
	w.used, w.columns = 0, w.columns[:0]
}

// place gives the rows of a chunk their places.
func (w *writer) place(of []uint16) {
	next, to := w.next, w.to[:len(of)]
	for i, p := range of {
		t := next[p]
		next[p] = t + 1
		to[i] = t
	}
	w.of = of
}

// flush writes what is still in the buffers, and ends the writing of the columns.
func (w *writer) flush() {
	for _, c := range w.columns {
		c.flush(w.begin, w.next)
	}
	w.columns = w.columns[:0]
	streamFence()
}

// lines writes one column.
type lines[T word] struct {
	dst, buffer []T
	stream      bool // past the caches
}

// streamFrom is the size, in bytes, from which a column is written past the caches:
// less stays in them until it is read.
const streamFrom = 4 << 20

// linesTo adds a column to those that w writes from here on. dst has the places.
func linesTo[T word](w *writer, dst []T) *lines[T] {
	l := &lines[T]{dst: dst, buffer: view[T](w.buffers[w.used])}
	l.stream = canStream && len(dst)*size[T]() >= streamFrom && lineAligned(dst) && lineAligned(l.buffer)
	w.used++
	w.columns = append(w.columns, l)
	return l
}

// put writes a value for each row of the chunk.
func (l *lines[T]) put(w *writer, src []T) {
	line := lineBytes / size[T]()
	last := uint32(line - 1)
	buffer, to, of := l.buffer, w.to[:len(src)], w.of[:len(src)]
	for i, x := range src {
		t, p := to[i], int(of[i])
		buffer[p*line+int(t&last)] = x
		if t&last == last {
			l.full(w, p, t)
		}
	}
}

// putBoth writes a key and a value for each row of the chunk. Their lines become full
// together, so that the branch on it, which no processor can foresee, is taken once.
func putBoth(w *writer, a, b *lines[uint64], keys, values []uint64) {
	const line = lineBytes / 8
	first, second, to, of := a.buffer, b.buffer[:len(a.buffer)], w.to[:len(keys)], w.of[:len(keys)]
	values = values[:len(keys)]
	for i, k := range keys {
		t, p := to[i], int(of[i])
		at := p*line + int(t%line)
		first[at] = k
		second[at] = values[i]
		if t%line == line-1 {
			a.full(w, p, t)
			b.full(w, p, t)
		}
	}
}

// full writes the line of a part that ends with place t.
func (l *lines[T]) full(w *writer, part int, t uint32) {
	line := lineBytes / size[T]()
	from := t + 1 - uint32(line)
	if !l.stream || from < w.begin[part] {
		l.write(part, max(from, w.begin[part]), t+1)
		return
	}
	streamLine(start(l.dst[from:t+1]), start(l.buffer[part*line:(part+1)*line]))
}

// write writes the places [from, to) of a part, which are in one line.
func (l *lines[T]) write(part int, from, to uint32) {
	line := lineBytes / size[T]()
	at := part*line + int(from)&(line-1)
	copy(l.dst[from:to], l.buffer[at:at+int(to-from)])
}

func (l *lines[T]) flush(begin, next []uint32) {
	last := uint32(lineBytes/size[T]() - 1)
	for p, t := range next {
		if from := max(t&^last, begin[p]); from < t {
			l.write(p, from, t)
		}
	}
}
