package kept

import (
	"slices"
	"testing"
)

// idsOf returns the rows of a block of a test table: three, and one more in each second block.
func idsOf(block int) (ids []int64) {
	for i := range 3 + block%2 {
		ids = append(ids, int64(block)*10+int64(i))
	}
	return ids
}

// capture hands blocks over to a lease in one batch, with an LSN.
func capture(t testing.TB, l *Lease, columns []Column, lsn uint64, blocks ...int) {
	t.Helper()
	var ids []int64
	var list []Block
	for _, b := range blocks {
		list = append(list, Block{Number: uint32(b), First: uint32(len(ids)), LSN: lsn})
		ids = append(ids, idsOf(b)...)
	}
	from := &source{}
	if err := l.Captured(segmentOf(columns, ids), list, from); err != nil {
		t.Fatal(err)
	}
}

func request(blocks int, vm uint64) *Request {
	r := &Request{Table: Table{System: 1, File: 2}, Columns: allColumns, Blocks: uint32(blocks), Flushed: 1000, Policy: Always, Now: start, Name: "public.t"}
	for i := 0; i < blocks; i += GroupBlocks {
		r.Groups = append(r.Groups, allVisible(vm))
	}
	return r
}

func TestCapturedBlocksAreServed(t *testing.T) {
	s := New(&heap{size: 1 << 20}, Options{Limit: 4 << 20})
	l := s.Open(request(4, 7))
	if !l.Capture() || !l.Kept() || l.State(0) != Fed {
		t.Fatalf("the first use captures: %v, %v, %v", l.Capture(), l.Kept(), l.State(0))
	}
	capture(t, l, allColumns, 5, 2, 3)
	capture(t, l, allColumns, 5, 0, 1)
	l.Close(true)
	s.Drain()

	l = s.Open(request(4, 7))
	if l.State(0) != Kept {
		t.Fatalf("state %d at the VM LSN of the capture", l.State(0))
	}
	all := slices.Concat(idsOf(0), idsOf(1), idsOf(2), idsOf(3))
	if got := rowsOf(t, allColumns, l.Segments()); !slices.Equal(got, wantedRows(allColumns, all)) {
		t.Fatalf("kept rows %q", got)
	}
	l.Close(true)

	l = s.Open(request(4, 8))
	kept, prove, lsns := l.Blocks(0)
	if l.State(0) != Mixed || kept[0] != 0 || prove[0] != 0xf || !slices.Equal(lsns, []uint64{5, 5, 5, 5}) {
		t.Fatalf("at a newer VM LSN: state %d, kept %x, prove %x, %v", l.State(0), kept[0], prove[0], lsns)
	}
	prove[0] = 0b0110
	if err := l.Proved(0, prove); err != nil {
		t.Fatal(err)
	}
	if err := l.Proved(0, prove); err == nil {
		t.Fatal("blocks were proved twice")
	}
	if got := rowsOf(t, allColumns, l.Segments()); !slices.Equal(got, wantedRows(allColumns, slices.Concat(idsOf(1), idsOf(2)))) {
		t.Fatalf("proved rows %q", got)
	}
	l.Close(true)

	l = s.Open(request(4, 8))
	defer l.Close(true)
	kept, prove, _ = l.Blocks(0)
	if kept[0] != 0b0110 || prove[0] != 0b1001 {
		t.Fatalf("after a proof of two blocks: kept %x, prove %x", kept[0], prove[0])
	}
	if c := s.Counters(); c.Kept != 4 || c.Proved != 2 || c.Fed != 4+2 {
		t.Fatalf("%+v", c)
	}
}
