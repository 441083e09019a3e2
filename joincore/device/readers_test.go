package device_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"gpujoin/joincore/device"
)

// Memory is given back when the last execution has ended, whichever that is, and each one's once.
func TestReaders(t *testing.T) {
	for _, executions := range []int{1, 2, 3, 8} {
		var r device.Readers
		var ended, back atomic.Int64
		r.Begin(executions)
		var wait sync.WaitGroup
		for range executions {
			wait.Go(func() {
				ended.Add(1)
				r.End(func() {
					if n := ended.Load(); n != int64(executions) {
						t.Errorf("memory is given back when %d of %d executions have ended", n, executions)
					}
					back.Add(1)
				})
			})
		}
		wait.Wait()
		if n := back.Load(); n != int64(executions) {
			t.Errorf("%d of %d executions have given their memory back", n, executions)
		}
	}
}

// An execution that never began to read others' memory waits for none.
func TestNoReaders(t *testing.T) {
	var r device.Readers
	back := 0
	for range 3 {
		r.End(func() { back++ })
	}
	if back != 3 {
		t.Errorf("%d of 3 executions have given their memory back", back)
	}
}
