//go:build cuda

package outofcore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gpujoin/joincore"
)

// SharedJoin is a join out of core of executions on several devices. They partition the
// windows of both inputs together, and each joins some of the co-partitions: a row is
// uploaded, partitioned and joined by one device only. All executions have the same
// inputs, the same seed and the same host memory, which every device copies directly.
type SharedJoin struct {
	members   int
	connected bool // each device reaches the memory of all others
	met       [3]*Rendezvous

	mu     sync.Mutex
	bits   int           // the most that a member needs
	rows   int64         // of a window: the fewest that a member can have
	sides  [2][]*divided // windows of build and probe side
	frames [2][]frame    // of their moved payloads
	began  time.Time     // when the first window could be claimed
	low    int           // windows [low, high) of both sides are unclaimed
	high   int
	next   int      // co-partition
	users  int      // executions that may read the windows
	after  []func() // called when there are none any more
}

// Points at which the members wait for each other.
const (
	agreed      = iota // on bits and rows
	partitioned        // all windows are
	settled            // windows stay where they are
)

// NewSharedJoin returns a join of that many executions. connected says that each device
// reaches the memory of all others.
func NewSharedJoin(members int, connected bool) *SharedJoin {
	t := &SharedJoin{members: members, connected: connected, rows: mostRows}
	for i := range t.met {
		t.met[i] = NewRendezvous(members)
	}
	return t
}

// meet waits until all members have come to a point. An execution that fails does not
// come; then ctx ends.
func (t *SharedJoin) meet(ctx context.Context, point int) error {
	t.met[point].Arrive()
	return t.met[point].Wait(ctx)
}

// agree returns the radix bits and the rows of a window that suit all members. Each calls
// it once, and leave when it is done, also after an error.
func (t *SharedJoin) agree(ctx context.Context, bits int, rows int64) (int, int64, error) {
	t.mu.Lock()
	t.users++
	t.bits, t.rows = max(t.bits, bits), min(t.rows, rows)
	t.mu.Unlock()
	if err := t.meet(ctx, agreed); err != nil {
		return 0, 0, err
	}
	return t.bits, t.rows, nil
}

// windows returns the windows of a side, which all members fill in.
func (t *SharedJoin) windows(side, n int) ([]*divided, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sides[side] == nil {
		for range n {
			t.sides[side] = append(t.sides[side], &divided{})
		}
		t.began = time.Now()
		t.high += n
	}
	if len(t.sides[side]) != n {
		return nil, fmt.Errorf("%d windows on one device and %d on another: %w", n, len(t.sides[side]), joincore.ErrInvalid)
	}
	return t.sides[side], nil
}

// first claims the first unclaimed window for a device; -1: there is none.
func (t *SharedJoin) first() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.low >= t.high {
		return -1
	}
	t.low++
	return t.low - 1
}

// last claims the last unclaimed window for cores, which took a time for the one before; -1:
// there is none, or devices had better partition the rest.
func (t *SharedJoin) last(took time.Duration) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.low >= t.high || devicesEndSooner(t.high-t.low, t.low, time.Since(t.began), took) {
		return -1
	}
	t.high--
	return t.high
}

// copartition claims one of n co-partitions; -1: there is none.
func (t *SharedJoin) copartition(n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next >= n {
		return -1
	}
	t.next++
	return t.next - 1
}

// leave says that an execution reads no window any more. The last one frees them: each
// window belongs to the execution that has allocated it.
func (t *SharedJoin) leave() {
	for _, f := range t.left() {
		f()
	}
}

// AfterReads calls f when no execution reads windows any more, at once if none does. The
// device memory of an execution that has ended may be used by others only then.
func (t *SharedJoin) AfterReads(f func()) {
	t.mu.Lock()
	if t.users > 0 {
		t.after = append(t.after, f)
		f = func() {}
	}
	t.mu.Unlock()
	f()
}

// left counts an execution that has left. If it is the last one, it frees the windows and
// returns what is to be called then.
func (t *SharedJoin) left() (after []func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users--; t.users > 0 {
		return nil
	}
	for i, windows := range t.sides {
		for _, w := range windows {
			if w.owner != nil {
				freeScratch(w.owner, w.scratch)
			}
		}
		t.sides[i] = nil
	}
	after, t.after = t.after, nil
	return after
}
