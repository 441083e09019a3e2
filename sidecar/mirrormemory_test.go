package sidecar

import (
	"errors"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/kept"
	"gpujoin/sidecar/memory"
)

// TestMirrorMemory: while jobs have all memory, mirrors grow by what was taken ahead, and
// then wait a while for more.
func TestMirrorMemory(t *testing.T) {
	r := start(t, func(o *Options) { o.MemoryBudget, o.MirrorMemory, o.MemoryWarm = 16*o.ExtentSize, 8*o.ExtentSize, 0 }, nil)
	m := r.srv.mirrors
	var held []kept.Extent
	take := func() error {
		e, err := m.Extent()
		if err == nil {
			held = append(held, e)
		}
		return err
	}
	must(t, take())
	for deadline := time.Now().Add(10 * time.Second); m.lacks(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is taken ahead")
		}
	}
	other := memory.NewKeeper(r.srv.budget, r.srv.store, "jobs")
	var jobs []*memory.Extent
	for {
		e, err := other.Extent()
		if err != nil {
			break
		}
		jobs = append(jobs, e)
	}
	for range m.most {
		must(t, take())
	}
	began := time.Now()
	if err := take(); !errors.Is(err, joincore.ErrBudget) || time.Since(began) < extentWait {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	time.AfterFunc(100*time.Millisecond, jobs[0].Release)
	must(t, take())
	m.mu.Lock()
	m.most = 0 // nothing more is taken ahead
	m.mu.Unlock()
	m.end()
	for _, e := range held {
		e.Release()
	}
	for _, e := range jobs[1:] {
		e.Release()
	}
}
