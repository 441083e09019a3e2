package joincore

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// heap is memory of the Go heap, of size classes, that counts what it has given.
type heap struct {
	mu    sync.Mutex
	given map[*byte]int
	root  *Account // nil: the root counts itself
}

const heapClass = 64

func (h *heap) Alloc(n int64) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n > 1<<20 {
		return nil, ErrBudget
	}
	class := (n + heapClass - 1) / heapClass * heapClass
	b := make([]byte, n, class)
	if h.given == nil {
		h.given = map[*byte]int{}
	}
	h.given[&b[0]] = cap(b)
	if h.root != nil {
		h.root.Take(class)
	}
	return b, nil
}

func (h *heap) Free(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.given[&b[0]] != cap(b) {
		panic("freed what was not given")
	}
	delete(h.given, &b[0])
	if h.root != nil {
		h.root.Give(int64(cap(b)))
	}
}

func alloc(t *testing.T, a *Account, n int64) []byte {
	t.Helper()
	b, err := a.Alloc(n)
	if err != nil || int64(len(b)) != n || cap(b) != len(b) {
		t.Fatalf("%d bytes: %d of %d, %v", n, len(b), cap(b), err)
	}
	return b
}

// TestAccountsNest: what an account takes counts above it, and only there.
func TestAccountsNest(t *testing.T) {
	h := &heap{}
	root := NewAccount("root", h)
	left, right := NewAccount("left", root), NewAccount("right", root)
	leaf := NewAccount("leaf", left)
	first, second := alloc(t, leaf, 100), alloc(t, left, 50)
	right.Take(30)
	root.Free(first[:1]) // by any account of the tree, by its first byte
	right.Give(10)
	want := []AccountUsage{{"job", 70, 180, 0}, {"job/left", 50, 150, 0}, {"job/left/leaf", 0, 100, 0}, {"job/right", 20, 30, 0}}
	if got := root.Report("job", nil); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	leaf.Leave()
	left.Leave()
	if got := root.Report("job", nil); !slices.Equal(got, []AccountUsage{want[0], want[3]}) {
		t.Errorf("closed accounts: %+v", got)
	}
	left.Free(second)
	if root.Used() != 20 || left.Used() != 0 {
		t.Errorf("%d and %d bytes in use", root.Used(), left.Used())
	}
}

// TestAccountOfASourceThatCounts: the root uses size classes, the accounts below what they
// asked for.
func TestAccountOfASourceThatCounts(t *testing.T) {
	h := &heap{}
	h.root = NewRoot(h)
	h.root.AddLimit(1000)
	job := struct{ *Account }{h.root} // accounts are found where they are embedded
	plan := NewAccount("plan", job)
	groups := NewAccount("groups", plan)
	alloc(t, groups, 65)
	own := alloc(t, h.root, 1)
	want := []AccountUsage{{"job", 192, 192, 1000}, {"job/plan", 65, 65, 0}, {"job/plan/groups", 65, 65, 0}}
	if got := h.root.Report("job", nil); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if n := plan.Close(); n != 1 || groups.Used() != 0 || h.root.Used() != heapClass {
		t.Errorf("%d blocks were left; then %d and %d bytes in use", n, groups.Used(), h.root.Used())
	}
	h.root.Free(own)
	if n := h.root.Close(); n != 0 || h.root.Used() != 0 || len(h.given) != 0 {
		t.Errorf("%d blocks were left; then %d bytes in use", n, h.root.Used())
	}
}

// TestAccountRefuses: what is refused is not counted.
func TestAccountRefuses(t *testing.T) {
	a := NewAccount("leaf", NewAccount("root", &heap{}))
	for n, want := range map[int64]error{-1: ErrInvalid, 2 << 20: ErrBudget} {
		if _, err := a.Alloc(n); !errors.Is(err, want) || a.Peak() != 0 {
			t.Errorf("%d bytes: %v, peak %d", n, err, a.Peak())
		}
	}
	a.Free(alloc(t, a, 0))
	a.Free(nil)
	b := alloc(t, a, 1)
	a.Free(b)
	defer func() {
		if recover() == nil {
			t.Error("freed twice")
		}
	}()
	a.Free(b)
}

// TestAccountsConcurrently has goroutines allocate in accounts of one tree that come and go,
// while another one reads reports.
func TestAccountsConcurrently(t *testing.T) {
	h := &heap{}
	h.root = NewRoot(h)
	plan := NewAccount("plan", h.root)
	stop := make(chan struct{})
	var reports, wait sync.WaitGroup
	reports.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, u := range h.root.Report("job", nil) {
				if u.Used < 0 || u.Peak <= 0 && u.Path != "job" {
					t.Errorf("%+v", u)
				}
			}
		}
	})
	for g := range 4 {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 50 {
				a := NewAccount("part", plan)
				var list [][]byte
				for range 20 {
					b, err := a.Alloc(r.Int64N(1000))
					if err != nil {
						t.Error(err)
						return
					}
					if list = append(list, b); len(list) > 10 {
						plan.Free(list[0])
						list = list[1:]
					}
				}
				a.Close()
				if a.Used() != 0 {
					t.Errorf("%d bytes are left", a.Used())
				}
			}
		})
	}
	wait.Wait()
	close(stop)
	reports.Wait()
	if plan.Used() != 0 || h.root.Used() != 0 || len(h.given) != 0 || plan.Peak() == 0 || len(plan.below) != 0 {
		t.Errorf("%d and %d bytes are left, of a peak of %d", plan.Used(), h.root.Used(), plan.Peak())
	}
}
