package fabric

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// flag is an ending that a test sets. It counts how often it is asked.
type flag struct {
	set   bool
	err   error
	asked int
}

func (f *flag) ended() (bool, error) {
	f.asked++
	return f.set, f.err
}

// bench is a line of copies with numbers.
type bench struct {
	line  line
	flags []*flag
	now   time.Time
}

func newBench(copies int) *bench {
	b := &bench{now: time.Unix(100, 0)}
	for range copies {
		f := &flag{}
		b.flags = append(b.flags, f)
		b.line.add(posted{end: f})
	}
	return b
}

// take returns the numbers and errors of the copies that have ended.
func (b *bench) take() (numbers []int, errs []error) {
	b.line.take(b.now, func(p posted) {
		numbers = append(numbers, slices.IndexFunc(b.flags, func(f *flag) bool { return p.end == ending(f) }))
		errs = append(errs, p.err)
	})
	return numbers, errs
}

func (b *bench) expect(t *testing.T, want ...int) {
	t.Helper()
	got, errs := b.take()
	if !slices.Equal(got, want) {
		t.Fatalf("copies %v ended, want %v", got, want)
	}
	for i, err := range errs {
		if err != nil {
			t.Errorf("copy %d: %v", got[i], err)
		}
	}
}

func TestCopiesOfALineEndInOrder(t *testing.T) {
	b := newBench(3)
	b.expect(t)
	b.flags[0].set = true
	b.expect(t, 0)
	b.expect(t)
	b.flags[1].set, b.flags[2].set = true, true
	b.expect(t, 1, 2)
	b.expect(t)
}

// Copies that cannot have ended are not asked, and do not delay others.
func TestSlowLinksDoNotDelayOthers(t *testing.T) {
	b := newBench(4)
	b.line.copies[0].until = b.now.Add(time.Second)
	b.line.copies[2].until = b.now.Add(time.Hour)
	b.flags[0].set = true
	b.expect(t)
	b.flags[1].set = true
	b.expect(t, 0, 1)
	if b.flags[0].asked != 0 {
		t.Error("a copy was asked that could not have ended")
	}
	b.flags[2].set = true
	b.expect(t)
	b.now = b.now.Add(time.Hour)
	b.expect(t, 2)
	if len(b.line.copies) != 1 {
		t.Errorf("%d copies are left", len(b.line.copies))
	}
}

// An error fails the copy and all before it that have not ended, but not those behind it.
func TestAnErrorFailsCopiesOfALine(t *testing.T) {
	b := newBench(3)
	b.line.copies[0].until = b.now.Add(time.Second)
	broken, refused := errors.New("link down"), errors.New("too many copies")
	b.line.copies[0].err = refused
	b.flags[1].err = broken
	numbers, errs := b.take()
	if !slices.Equal(numbers, []int{0, 1}) || !errors.Is(errs[0], refused) || !errors.Is(errs[1], broken) {
		t.Fatalf("copies %v ended with %v", numbers, errs)
	}
	b.flags[2].set = true
	b.expect(t, 2)
}

// A copy that could not be queued ends after those before it.
func TestARefusedCopyWaitsForThoseBefore(t *testing.T) {
	refused := errors.New("too many copies")
	b := newBench(1)
	b.line.add(posted{over: over{err: refused}})
	b.expect(t)
	b.flags[0].set = true
	numbers, errs := b.take()
	if !slices.Equal(numbers, []int{0, -1}) || errs[0] != nil || !errors.Is(errs[1], refused) {
		t.Fatalf("copies %v ended with %v", numbers, errs)
	}
	b.line.add(posted{over: over{err: refused}})
	if numbers, errs = b.take(); len(numbers) != 1 || !errors.Is(errs[0], refused) {
		t.Fatalf("copies %v ended with %v", numbers, errs)
	}
}
