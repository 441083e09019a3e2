package shm

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

var testShapes = []ColumnShape{
	{EncFixed, 8, 8}, {EncFixed, 1, 1}, {EncVarlena, 4, 0}, {EncFixed, 4, 24}, {EncVarlena, 8, 0},
}

// fill writes rows of known content and returns the values, nil for NULL.
func fill(t testing.TB, extent []byte, shapes []ColumnShape, rows int, heap []float64) [][][]byte {
	t.Helper()
	l, err := PlanBatch(len(extent), shapes, heap)
	if err != nil {
		t.Fatal(err)
	}
	rows = min(rows, l.Rows)
	rnd := rand.New(rand.NewPCG(1, 2))
	used := make([]int, len(shapes))
	values := make([][][]byte, len(shapes))
	for i, c := range l.Columns(extent) {
		for r := range rows {
			v := make([]byte, c.Shape.Width)
			if c.Shape.Encoding == EncVarlena {
				v = make([]byte, 4*(1+rnd.IntN(3)))
			}
			for k := range v {
				v[k] = byte(rnd.Uint32())
			}
			if rnd.IntN(4) == 0 && i%2 == 0 {
				c.Validity[r/8] &^= 1 << (r % 8)
				v = v[:0]
			}
			if c.Shape.Encoding == EncFixed {
				copy(c.Values[r*int(c.Shape.Width):], v)
			} else {
				used[i] += copy(c.Heap[used[i]:], v)
				binary.LittleEndian.PutUint32(c.Values[4*r+4:], uint32(used[i]))
			}
			if len(v) == 0 {
				v = nil
			}
			values[i] = append(values[i], v)
		}
	}
	if _, _, err := l.Seal(extent, rows, used); err != nil {
		t.Fatal(err)
	}
	return values
}

func TestBatchRoundTrip(t *testing.T) {
	for _, rows := range []int{1, 2, 7, 8, 9, 63, 64, 65, 1023, 5000} {
		extent := make([]byte, 1<<20)
		for i := range extent {
			extent[i] = 0xa5 // as in an extent that was used before
		}
		want := fill(t, extent, testShapes, rows, []float64{0, 0, 8, 0, 8})
		v, err := ReadBatch(extent, testShapes)
		if err != nil {
			t.Fatal(err)
		}
		if v.Rows != rows || v.Used > int64(len(extent)) {
			t.Fatalf("%d rows, %d bytes used", v.Rows, v.Used)
		}
		for i, c := range v.Columns {
			nulls := 0
			for r := range rows {
				null := c.Validity != nil && c.Validity[r/8]&(1<<(r%8)) == 0
				if null {
					nulls++
				}
				if null != (want[i][r] == nil) {
					t.Fatalf("column %d, row %d: NULL is %v", i, r, null)
				}
				if null {
					continue
				}
				from, to, data := r*int(c.Shape.Width), (r+1)*int(c.Shape.Width), c.Values
				if c.Shape.Encoding == EncVarlena {
					from, to = int(binary.LittleEndian.Uint32(c.Values[4*r:])), int(binary.LittleEndian.Uint32(c.Values[4*r+4:]))
					data = c.Heap
				}
				if !slices.Equal(data[from:to], want[i][r]) {
					t.Fatalf("column %d, row %d differs", i, r)
				}
			}
			if nulls != c.Nulls {
				t.Errorf("column %d: %d NULLs, header says %d", i, nulls, c.Nulls)
			}
		}
	}
}

// TestPlanBatch checks capacities: regions are in range, and little space is wasted.
func TestPlanBatch(t *testing.T) {
	wide := make([]ColumnShape, MaxColumns)
	for i := range wide {
		wide[i] = ColumnShape{EncFixed, 8, 64}
	}
	for name, c := range map[string]struct {
		shapes []ColumnShape
		heap   []float64
		least  int // minimum rows in 1 MiB
		err    error
	}{
		"no columns":      {nil, nil, 1 << 20, nil},
		"int8":            {testShapes[:1], nil, 128000, nil},
		"four int8":       {slices.Repeat(testShapes[:1], 4), nil, 31000, nil},
		"short text":      {testShapes[2:3], []float64{16}, 50000, nil},
		"no estimate":     {testShapes[2:3], nil, 1, nil},
		"absurd estimate": {testShapes[2:3], []float64{1e300}, 1, nil},
		"negative":        {testShapes[2:3], []float64{-5}, 1, nil},
		"widest row":      {wide, nil, 5, nil},
		"bad shape":       {[]ColumnShape{{EncFixed, 8, 3}}, nil, 0, ErrBatchColumns},
		"too many":        {append(wide, wide[0]), nil, 0, ErrBatchColumns},
	} {
		extent := make([]byte, 1<<20)
		l, err := PlanBatch(len(extent), c.shapes, c.heap)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		if l.Rows < c.least {
			t.Errorf("%s: only %d rows", name, l.Rows)
		}
		l.Columns(extent)
		full := make([]int, len(c.shapes))
		for i := range full {
			full[i] = int(l.columns[i].HeapLen)
		}
		for i := range c.shapes { // offsets that use the whole heap
			if c.shapes[i].Encoding == EncVarlena {
				o := extent[l.columns[i].ValuesOff:]
				for r := range l.Rows + 1 {
					binary.LittleEndian.PutUint32(o[4*r:], uint32(full[i]))
				}
			}
		}
		if _, _, err := l.Seal(extent, l.Rows, full); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := ReadBatch(extent, c.shapes); err != nil {
			t.Errorf("%s: a full batch is refused: %v", name, err)
		}
		if _, _, err := l.Seal(extent, l.Rows+1, full); err == nil {
			t.Errorf("%s: more rows than fit were sealed", name)
		}
		if _, _, err := l.Seal(extent, 0, full); err == nil {
			t.Errorf("%s: an empty batch was sealed", name)
		}
	}
	huge := slices.Repeat([]ColumnShape{{EncFixed, 8, 64}}, MaxColumns)
	if _, err := PlanBatch(1<<16, huge, nil); !errors.Is(err, ErrRowTooWide) {
		t.Errorf("a row wider than its extent: %v", err)
	}
}

// TestBytesOfABatch: Bytes depends on a batch's rows, not on the space for more, nor on
// where the rows are.
func TestBytesOfABatch(t *testing.T) {
	shapes := []ColumnShape{{EncFixed, 8, 8}, {EncFixed, 4, 4}, {EncVarlena, 4, 0}, {EncFixed, 2, 2}}
	l, err := PlanBatch(1<<20, shapes, []float64{0, 0, 8, 0})
	if err != nil {
		t.Fatal(err)
	}
	extent := make([]byte, 1<<20)
	columns := l.Columns(extent)
	columns[1].Validity[0] = 0xfe
	used, bytes, err := l.Seal(extent, 10, []int{0, 0, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	const want = 10*8 + 10*4 + 2 + 11*4 + 10*2
	if bytes != want || used < 100*want {
		t.Errorf("%d bytes that end at %d, of %d", bytes, used, want)
	}
	v, err := ReadBatch(extent, shapes)
	if err != nil {
		t.Fatal(err)
	}
	if v.Bytes() != want || v.Used != used {
		t.Errorf("the reader sees %d bytes that end at %d", v.Bytes(), v.Used)
	}
}

// TestHostileBatch changes one field of a valid batch at a time.
func TestHostileBatch(t *testing.T) {
	le := binary.LittleEndian
	column := func(i int) int { return Sizeof[Batch]() + i*Sizeof[Column]() }
	for name, c := range map[string]struct {
		change func(b []byte)
		want   error
	}{
		"magic":                 {func(b []byte) { b[0]++ }, ErrBatchMagic},
		"version":               {func(b []byte) { le.PutUint16(b[4:], LayoutVersion+1) }, ErrBatchVersion},
		"no columns":            {func(b []byte) { le.PutUint16(b[6:], 0) }, ErrBatchColumns},
		"one column less":       {func(b []byte) { le.PutUint16(b[6:], 4) }, ErrBatchColumns},
		"65535 columns":         {func(b []byte) { le.PutUint16(b[6:], 65535) }, ErrBatchColumns},
		"flags":                 {func(b []byte) { b[12] = 1 }, ErrBatchVersion},
		"reserved":              {func(b []byte) { b[24] = 1 }, ErrBatchVersion},
		"rows 2^32 - 1":         {func(b []byte) { le.PutUint32(b[8:], 1<<32-1) }, ErrBatchRegion},
		"more rows":             {func(b []byte) { le.PutUint32(b[8:], 1<<17) }, ErrBatchRegion},
		"used beyond the end":   {func(b []byte) { le.PutUint64(b[16:], 1<<20+1) }, ErrBatchSize},
		"used 2^64 - 1":         {func(b []byte) { le.PutUint64(b[16:], 1<<64-1) }, ErrBatchSize},
		"used 0":                {func(b []byte) { le.PutUint64(b[16:], 0) }, ErrBatchSize},
		"used less":             {func(b []byte) { le.PutUint64(b[16:], 4096) }, ErrBatchRegion},
		"encoding 0":            {func(b []byte) { b[column(0)] = 0 }, ErrBatchColumns},
		"encoding of another":   {func(b []byte) { b[column(0)] = byte(EncVarlena) }, ErrBatchColumns},
		"align 0":               {func(b []byte) { b[column(0)+1] = 0 }, ErrBatchColumns},
		"width 9":               {func(b []byte) { b[column(0)+2] = 9 }, ErrBatchColumns},
		"more NULLs than rows":  {func(b []byte) { le.PutUint32(b[column(0)+4:], 101) }, ErrBatchRegion},
		"NULLs without bitmap":  {func(b []byte) { le.PutUint32(b[column(1)+4:], 1) }, ErrBatchRegion},
		"values not aligned":    {func(b []byte) { b[column(0)+8]++ }, ErrBatchRegion},
		"values at the end":     {func(b []byte) { le.PutUint32(b[column(0)+8:], 1<<20) }, ErrBatchRegion},
		"values 2^32 - 64":      {func(b []byte) { le.PutUint32(b[column(0)+8:], 1<<32-64) }, ErrBatchRegion},
		"values on the header":  {func(b []byte) { le.PutUint32(b[column(0)+8:], 0) }, ErrBatchOverlap},
		"values on values":      {func(b []byte) { copy(b[column(1)+8:], b[column(0)+8:column(0)+12]) }, ErrBatchOverlap},
		"bitmap on values":      {func(b []byte) { copy(b[column(0)+12:], b[column(0)+8:column(0)+12]) }, ErrBatchOverlap},
		"bitmap at the end":     {func(b []byte) { le.PutUint32(b[column(0)+12:], 1<<20) }, ErrBatchRegion},
		"heap of a fixed one":   {func(b []byte) { le.PutUint32(b[column(0)+20:], 64) }, ErrBatchRegion},
		"heap beyond the end":   {func(b []byte) { le.PutUint32(b[column(2)+20:], 1<<20) }, ErrBatchRegion},
		"heap 2^32 - 1":         {func(b []byte) { le.PutUint32(b[column(2)+20:], 1<<32-1) }, ErrBatchRegion},
		"heap shorter":          {func(b []byte) { le.PutUint32(b[column(2)+20:], 4) }, ErrBatchOffsets},
		"heap on another":       {func(b []byte) { copy(b[column(2)+16:], b[column(4)+16:column(4)+20]) }, ErrBatchOverlap},
		"first offset not zero": {func(b []byte) { b[le.Uint32(b[column(2)+8:])] = 200 }, ErrBatchOffsets},
		"offsets decrease":      {func(b []byte) { le.PutUint32(b[le.Uint32(b[column(2)+8:])+200:], 0) }, ErrBatchOffsets},
		"offset beyond heap":    {func(b []byte) { le.PutUint32(b[le.Uint32(b[column(2)+8:])+400:], 1<<31) }, ErrBatchOffsets},
	} {
		extent := make([]byte, 1<<20)
		fill(t, extent, testShapes, 100, nil)
		c.change(extent)
		if _, err := ReadBatch(extent, testShapes); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := range 200 {
		extent := make([]byte, 1<<20)
		fill(t, extent, testShapes, 100, nil)
		if _, err := ReadBatch(extent[:n:n], testShapes); err == nil {
			t.Errorf("a batch cut at %d was accepted", n)
		}
	}
}

// TestChangedHeader changes the header after the check: the reader's view stays in
// range.
func TestChangedHeader(t *testing.T) {
	extent, err := MapPrivate(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := Unmap(extent); err != nil {
			t.Error(err)
		}
	}()
	fill(t, extent, testShapes, 100, nil)
	good := slices.Clone(extent[:256])
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		copy(extent, good)
		extent[rnd.IntN(152)] ^= 1 << rnd.IntN(8)
		v, err := ReadBatch(extent, testShapes)
		for i := range 152 {
			extent[i] = byte(rnd.Uint32())
		}
		if err != nil {
			continue
		}
		for _, c := range v.Columns {
			for _, b := range [][]byte{c.Values, c.Validity, c.Heap} {
				if cap(b) != len(b) {
					t.Fatal("a region can grow")
				}
			}
		}
	}
}

func TestChainExtent(t *testing.T) {
	good := ChainHeader{Magic: ChainMagic, Version: LayoutVersion, Chain: 5, Bytes: 100}
	for name, c := range map[string]struct {
		change func(*ChainHeader)
		want   error
	}{
		"good":     {func(*ChainHeader) {}, nil},
		"magic":    {func(p *ChainHeader) { p.Magic = BatchMagic }, ErrChainMagic},
		"version":  {func(p *ChainHeader) { p.Version = 0 }, ErrChainVersion},
		"reserved": {func(p *ChainHeader) { p.Reserved = 1 }, ErrChainVersion},
		"unused":   {func(p *ChainHeader) { p.Reserved2 = 1 }, ErrChainVersion},
		"empty":    {func(p *ChainHeader) { p.Bytes = 0 }, ErrChainSize},
		"full":     {func(p *ChainHeader) { p.Bytes = 4096 - ChainDataOff }, nil},
		"too long": {func(p *ChainHeader) { p.Bytes = 4096 - ChainDataOff + 1 }, ErrChainSize},
		"2^32 - 1": {func(p *ChainHeader) { p.Bytes = 1<<32 - 1 }, ErrChainSize},
	} {
		p := good
		c.change(&p)
		b := append(Append(nil, &p), make([]byte, 4096-Sizeof[ChainHeader]())...)
		got, data, err := ReadChainExtent(b)
		if !errors.Is(err, c.want) || err == nil && (got != p || len(data) != int(p.Bytes)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := ReadChainExtent(make([]byte, 5)); !errors.Is(err, ErrShort) {
		t.Error(err)
	}
}
