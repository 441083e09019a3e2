package sidecar

import (
	"fmt"
	"testing"

	"gpujoin/shm"
)

// TestUnkept: a job that has failed because its inputs were kept is known again, with other
// values of parameters too.
func TestUnkept(t *testing.T) {
	job := func(table, value int) []byte {
		return fmt.Appendf(nil, `{"version":3,"static":{"inputs":[{"relation":%d}]},"runtime":{"parameters":[%d]}}`, table, value)
	}
	var u unkept
	if u.has(job(1, 1)) {
		t.Error("a job that has not run has failed")
	}
	for _, code := range []shm.Failure{shm.FailBudget, shm.FailStopping, shm.FailProvider} {
		u.failed(job(1, 1), code)
	}
	if u.has(job(1, 1)) {
		t.Error("a failure for another reason counts")
	}
	u.failed(job(1, 1), shm.FailArithmetic)
	u.failed(job(2, 1), shm.FailUnsupported)
	for table, want := range map[int]bool{1: true, 2: true, 3: false} {
		if got := u.has(job(table, 7)); got != want {
			t.Errorf("table %d: %v", table, got)
		}
	}
	for i := range 2 * maxUnkept {
		u.failed(job(i, 0), shm.FailArithmetic)
		if len(u.jobs) > maxUnkept {
			t.Fatalf("%d jobs are remembered", len(u.jobs))
		}
	}
	if !u.has(job(2*maxUnkept-1, 3)) {
		t.Error("the last job is forgotten")
	}
}
