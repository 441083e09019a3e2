package outofcore

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// locker page-locks nothing, and counts.
type locker struct {
	mu     sync.Mutex
	locked map[int64]int64 // bytes, by address
	most   int64
	locks  int
	err    error
	gate   chan struct{} // nil: open
	asked  atomic.Int32  // how often
}

func (l *locker) lock(mem []byte) (func(), error) {
	l.asked.Add(1)
	if l.gate != nil {
		<-l.gate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	mem[0], mem[len(mem)-1] = 1, 1 // it is mapped
	at := addressOf(mem)
	if l.locked == nil {
		l.locked = map[int64]int64{}
	}
	if l.locked[at] != 0 {
		panic("locked twice")
	}
	l.locked[at] = int64(len(mem))
	l.locks++
	l.most = max(l.most, l.sum())
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		mem[0] = 2 // it still is
		delete(l.locked, at)
	}, nil
}

func (l *locker) sum() (n int64) {
	for _, bytes := range l.locked {
		n += bytes
	}
	return n
}

// wait waits until this number of locks has been requested.
func (l *locker) wait(locks int32) {
	for l.asked.Load() < locks {
		time.Sleep(time.Millisecond)
	}
}

// bytes is how much is locked.
func (l *locker) bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum()
}

func testSlabs(t *testing.T, l *locker, limit int64) *Pool {
	p := NewPool(l.lock, limit)
	t.Cleanup(func() {
		p.Close()
		if n := l.bytes(); n != 0 || p.bytes != 0 || p.used != 0 || p.ending != 0 {
			t.Errorf("%d bytes are locked, %d idle, %d in use, %d about to end after all", n, p.bytes, p.used, p.ending)
		}
	})
	return p
}
