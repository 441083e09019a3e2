package kept

import (
	"reflect"
	"testing"
)

// A capture is first fed and then copied, and can be watched meanwhile. Nothing is left to be
// seen of it in the end.
func TestProgress(t *testing.T) {
	s := New(&heap{size: 1 << 20}, Options{Limit: 4 << 20})
	r := request(ChunkBlocks+4, 7)
	r.Job, r.PID = 3, 44
	want := func(p ...Progress) {
		t.Helper()
		for i := range p {
			p[i].Table, p[i].Name, p[i].Job, p[i].PID = r.Table, r.Name, 3, 44
		}
		if got := s.Progress(); !reflect.DeepEqual(got, p) {
			t.Errorf("%+v, want %+v", got, p)
		}
	}
	want()
	l := s.Open(r)
	want(Progress{Blocks: ChunkBlocks + 4})
	capture(t, l, allColumns, 5, 0, 1, 2)
	want(Progress{Blocks: ChunkBlocks + 4, Done: 3})
	capture(t, l, allColumns, 5, ChunkBlocks, ChunkBlocks+1)
	l.Close(true)
	want(Progress{Copying: true, Blocks: 5})
	s.step()
	want(Progress{Copying: true, Blocks: 5, Done: 3})
	s.Drain()
	want()

	l = s.Open(r)
	want(Progress{Blocks: ChunkBlocks + 4, Done: 5})
	l.Decline()
	want()
	l.Close(false)
}

// The store remembers why what the last use fed was not captured.
func TestReasonOfLastUse(t *testing.T) {
	s := New(&heap{size: 1 << 20}, Options{Limit: 4 << 20})
	use := func(p Policy, columns []Column, captures bool, want LastUse) {
		t.Helper()
		r := request(4, 7)
		r.Policy, r.Columns = p, columns
		l := s.Open(r)
		if l.Capture() != captures {
			t.Errorf("capture: %v", l.Capture())
		}
		if captures {
			capture(t, l, columns, 5, 0, 1)
		}
		l.Close(true)
		s.Drain()
		if got := s.tables[r.Table].last; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	use(Auto, allColumns, false, LastUse{Fed: 4, Reason: reasonOnce})
	use(Off, allColumns, false, LastUse{Fed: 4, Reason: reasonOff})
	use(Auto, allColumns, true, LastUse{Fed: 4})
	use(Off, allColumns, false, LastUse{Kept: 2, Fed: 2, Reason: reasonOff})
	s = New(&heap{size: 1 << 20}, Options{Limit: 1})
	use(Always, allColumns, false, LastUse{Fed: 4, Reason: reasonNoMemory})
}
