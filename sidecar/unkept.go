package sidecar

import (
	"bytes"
	"hash/maphash"
	"sync"

	"gpujoin/shm"
)

// unkept remembers jobs that have failed with inputs in the mode KEPT, in a way in which they
// might not fail if these are fed: the daemon cannot evaluate a condition of a table on some
// of its rows, such as the year of an infinite date, or one that reads a very long text. The
// feed evaluates it in PostgreSQL. Without this, each execution of such a query would run the
// native plan in the end.
type unkept struct {
	mu   sync.Mutex
	seed maphash.Seed
	jobs map[uint64]struct{} // nil: none has failed
}

// maxUnkept bounds the memory of all. Beyond it, each has another chance.
const maxUnkept = 4096

// failed remembers a job that has failed with inputs in the mode KEPT.
func (u *unkept) failed(job []byte, code shm.Failure) {
	if code != shm.FailArithmetic && code != shm.FailUnsupported {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.jobs == nil:
		u.seed, u.jobs = maphash.MakeSeed(), map[uint64]struct{}{}
	case len(u.jobs) == maxUnkept:
		clear(u.jobs)
	}
	u.jobs[u.hash(job)] = struct{}{}
}

// has reports whether such a job has failed before.
func (u *unkept) has(job []byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.jobs) == 0 {
		return false
	}
	_, ok := u.jobs[u.hash(job)]
	return ok
}

// hash is that of a job but for the values of one execution, which come last.
func (u *unkept) hash(job []byte) uint64 {
	if i := bytes.LastIndex(job, []byte(`"runtime":`)); i >= 0 {
		job = job[:i]
	}
	return maphash.Bytes(u.seed, job)
}
