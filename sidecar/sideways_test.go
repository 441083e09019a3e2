package sidecar

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"gpujoin/joincore/planjson"
	"gpujoin/shm"
	"gpujoin/sidecar/memory"
	"gpujoin/testsupport/backend"
)

// filterJob is joinJob with filters: the second input by keys of the first.
func filterJob(filters int) []byte {
	list := ""
	for i := range filters {
		if i > 0 {
			list += ","
		}
		list += `{"source":{"input":0,"column":0},"target":{"input":1,"column":0}}`
	}
	return bytes.Replace(joinJob(100, 10000, 1000), []byte(`"root":`), fmt.Appendf(nil, `"filters":[%s],"root":`, list), 1)
}

// filtering opens a job with filters as the leader of a group of participants.
func (r *rig) filtering(open shm.Open, filters int) (*backend.Conn, shm.Admitted) {
	r.t.Helper()
	c := r.dial(1)
	a, err := c.Open(open, filterJob(filters))
	must(r.t, err)
	return c, a
}

// passing returns the rows whose keys pass the filter.
func passing(f *shm.FilterView, rows [][]backend.Value) (out [][]backend.Value) {
	for _, row := range rows {
		if row[0] != nil && f.Test(int64(binary.LittleEndian.Uint64(row[0]))) {
			out = append(out, row)
		}
	}
	return out
}

// requested sends FILTER_GET without waiting for the answer.
func requested(c *backend.Conn, filter uint32) error {
	return backend.Send(c, shm.MsgFilterGet, &shm.FilterGet{Filter: filter})
}

// silent checks that the daemon sends nothing for a while.
func silent(t *testing.T, c *backend.Conn) {
	t.Helper()
	timeout := c.Timeout
	c.Timeout = 50 * time.Millisecond
	defer func() { c.Timeout = timeout }()
	if f, _, _, err := c.Receive(); err == nil {
		t.Fatalf("%s came", f.Type)
	}
}

// Two participants share the source. Each waits until both have fed it; then both
// get the filter, and the result is that of the whole inputs.
func TestFilterOfParticipants(t *testing.T) {
	r := start(t, nil, nil)
	small, large := tableRows(40, 40, "s"), tableRows(8000, 1000, "l")
	leader, job := r.filtering(shm.Open{Participants: 2}, 1)
	worker := r.dial(1)
	must(t, worker.Attach(job, 0))

	must(t, leader.Feed(0, tableShapes, small[:20], 7))
	must(t, leader.InputFed(0))
	must(t, requested(leader, 0))
	must(t, worker.Feed(0, tableShapes, small[20:], 7))
	silent(t, leader)
	must(t, worker.InputFed(0))

	m, _, fds, err := leader.Receive()
	must(t, err)
	if shm.CloseFDs(fds); m.Type != shm.MsgFilter || len(fds) != 1 {
		t.Fatalf("%s with %d descriptors", m.Type, len(fds))
	}
	f, e, err := worker.Filter(0)
	must(t, err)
	kept := passing(f, large)
	if len(kept) == 0 || len(kept) > len(large)/10 {
		t.Errorf("%d rows of %d pass", len(kept), len(large))
	}
	must(t, worker.Filtered(0, uint64(len(large)), uint64(len(large)-len(kept))))
	must(t, worker.Release(e))
	must(t, worker.Feed(1, tableShapes, kept, 0))
	must(t, worker.Fed(shm.Fed{}))
	must(t, leader.Fed(shm.Fed{}))
	must(t, leader.Run(1))
	got, err := leader.Drain(resultShapes, 2)
	must(t, err)
	sameRows(t, got, joinOf(small, large))

	report, err := leader.Stats()
	must(t, err)
	if len(report.FilterList) != 1 {
		t.Fatalf("%+v", report.FilterList)
	}
	if s := report.FilterList[0]; s.Kind != uint32(f.Header.Kind) || s.Keys != f.Header.Keys || s.Tested != 8000 || s.Dropped != uint64(8000-len(kept)) || shm.Text(s.Reason[:]) != "" {
		t.Errorf("%+v", s)
	}
	leader.Close() // while it still holds the filter
}

// A participant that attaches after the source was fed has nothing to feed, and
// gets the filter at once. A batch that it feeds anyway fails the job.
func TestFilterOfLateParticipant(t *testing.T) {
	r := start(t, nil, nil)
	leader, job := r.filtering(shm.Open{Participants: 2}, 1)
	must(t, leader.Feed(0, tableShapes, tableRows(10, 10, "s"), 0))
	must(t, leader.InputFed(0))
	if _, _, err := leader.Filter(0); err != nil {
		t.Fatal(err)
	}
	late := r.dial(1)
	must(t, late.Attach(job, 0))
	must(t, late.InputFed(0))
	if _, _, err := late.Filter(0); err != nil {
		t.Fatal(err)
	}
	later := r.dial(1)
	must(t, later.Attach(job, 1))
	must(t, later.Feed(0, tableShapes, tableRows(1, 1, "x"), 0))
	wantFailure(t, drainUntilError(later), shm.FailProtocol)
	wantFailure(t, drainUntilError(leader), shm.FailInternal)
}

// FED stands for INPUT_FED of all inputs.
func TestFilterAfterFed(t *testing.T) {
	r := start(t, nil, nil)
	leader, job := r.filtering(shm.Open{Participants: 2}, 1)
	worker := r.dial(1)
	must(t, worker.Attach(job, 0))
	must(t, leader.InputFed(0))
	must(t, requested(leader, 0))
	silent(t, leader)
	must(t, worker.Fed(shm.Fed{}))
	m, body, fds, err := leader.Receive()
	must(t, err)
	shm.CloseFDs(fds)
	if v, err := shm.Decode[shm.Filter](body); m.Type != shm.MsgFilter || err != nil || v.Kind == uint32(shm.FilterNone) {
		t.Errorf("%s %+v, %v", m.Type, v, err)
	}
}

// Filters with the same source share an extent.
func TestFiltersOfOneSource(t *testing.T) {
	r := start(t, nil, nil)
	c, _ := r.filtering(shm.Open{}, 2)
	must(t, c.Feed(0, tableShapes, tableRows(10, 10, "s"), 0))
	must(t, c.InputFed(0))
	_, first, err := c.Filter(0)
	must(t, err)
	_, second, err := c.Filter(1)
	must(t, err)
	if first.ID != second.ID {
		t.Errorf("extents %d and %d", first.ID, second.ID)
	}
	must(t, c.Release(first))
	must(t, c.Release(second))
	must(t, c.Fed(shm.Fed{}))
}

// Without memory there is no filter, and the job goes on.
func TestFilterWithoutMemory(t *testing.T) {
	r := start(t, nil, nil)
	c, _ := r.filtering(shm.Open{}, 1)
	small, large := tableRows(40, 40, "s"), tableRows(800, 100, "l")
	must(t, c.Feed(0, tableShapes, small, 0))
	b, _ := r.srv.Usage()
	free := r.srv.options.MemoryBudget - b.Reserved
	other, err := r.srv.budget.Reserve(t.Context(), r.srv.store, free, memory.Claim{}, 0)
	must(t, err)
	must(t, c.InputFed(0))
	f, e, err := c.Filter(0)
	if f != nil || e != nil || err != nil {
		t.Errorf("%v, %v", f, err)
	}
	must(t, c.Feed(1, tableShapes, large, 0))
	other.Close()
	must(t, c.Fed(shm.Fed{}))
	must(t, c.Run(1))
	got, err := c.Drain(resultShapes, 2)
	must(t, err)
	sameRows(t, got, joinOf(small, large))
	report, err := c.Stats()
	must(t, err)
	if s := report.FilterList[0]; s.Kind != uint32(shm.FilterNone) || shm.Text(s.Reason[:]) != "no memory is free for it" {
		t.Errorf("%+v", s)
	}
}

// No participant waits for a filter in vain: if one leaves before it has fed, even
// if it has asked for no extent, the job fails.
func TestFilterOfAParticipantThatLeaves(t *testing.T) {
	r := start(t, nil, nil)
	leader, job := r.filtering(shm.Open{Participants: 2}, 1)
	worker := r.dial(1)
	must(t, worker.Attach(job, 0))
	must(t, leader.InputFed(0))
	must(t, requested(leader, 0))
	silent(t, leader)
	worker.Close()
	wantFailure(t, drainUntilError(leader), shm.FailInternal)
}

// TestFilterViolations: each ends the connection with a reason.
func TestFilterViolations(t *testing.T) {
	r := start(t, nil, nil)
	get := func(filter, reserved uint32) func(*backend.Conn) error {
		return func(c *backend.Conn) error {
			return backend.Send(c, shm.MsgFilterGet, &shm.FilterGet{Filter: filter, Reserved: reserved})
		}
	}
	fed := func(input, reserved uint32) func(*backend.Conn) error {
		return func(c *backend.Conn) error {
			return backend.Send(c, shm.MsgInputFed, &shm.InputFed{Input: input, Reserved: reserved})
		}
	}
	allFed := func(c *backend.Conn) error { return c.Fed(shm.Fed{}) }
	filtered := func(filter, reserved uint32) func(*backend.Conn) error {
		return func(c *backend.Conn) error {
			return backend.Send(c, shm.MsgFiltered, &shm.Filtered{Filter: filter, Reserved: reserved})
		}
	}
	for name, acts := range map[string][]func(*backend.Conn) error{
		"an input that is no source":    {fed(1, 0)},
		"an input that does not exist":  {fed(1<<32-1, 0)},
		"reserved bytes of INPUT_FED":   {fed(0, 1)},
		"an input twice":                {fed(0, 0), fed(0, 0)},
		"an input after FED":            {allFed, fed(0, 0)},
		"a filter before its source":    {get(0, 0)},
		"a filter that does not exist":  {fed(0, 0), get(1, 0)},
		"a filter far out of range":     {fed(0, 0), get(1<<32-1, 0)},
		"reserved bytes of FILTER_GET":  {fed(0, 0), get(0, 1)},
		"a filter twice":                {fed(0, 0), get(0, 0), get(0, 0)},
		"a filter after FED":            {fed(0, 0), allFed, get(0, 0)},
		"the effect of no filter":       {filtered(1, 0)},
		"reserved bytes of FILTERED":    {filtered(0, 1)},
		"a daemon's message":            {func(c *backend.Conn) error { return backend.Send(c, shm.MsgFilter, &shm.Filter{}) }},
		"a batch after INPUT_FED":       {fed(0, 0), func(c *backend.Conn) error { return c.Feed(0, tableShapes, tableRows(1, 1, "x"), 0) }},
		"RUN of one that still filters": {fed(0, 0), func(c *backend.Conn) error { return backend.Send(c, shm.MsgRun, &shm.Run{Generation: 1}) }},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := r.filtering(shm.Open{}, 1)
			for _, act := range acts {
				must(t, act(c))
			}
			wantFailure(t, drainUntilError(c), shm.FailProtocol)
			c.Close()
			r.waitIdle()
		})
	}
}

// A job that ends while its filter is made frees everything.
func TestJobEndsWhileItFilters(t *testing.T) {
	r := start(t, nil, nil)
	rows := tableRows(100000, 100000, "s")
	for range 5 {
		c, _ := r.filtering(shm.Open{}, 1)
		must(t, c.Feed(0, tableShapes, rows, 0))
		must(t, c.InputFed(0))
		must(t, requested(c, 0))
		c.Close()
		r.waitIdle()
	}
}

// A filter whose targets are all kept is made when a participant asks for it: these have few
// rows to feed, or none.
func TestFilterOfKeptTargets(t *testing.T) {
	j := &job{fed: make([]input, 3), inputs: make([]planjson.Input, 3)}
	s := &keySource{targets: []int{1, 2}}
	for _, c := range []struct {
		kept   []int
		waits  bool
		wanted bool
	}{{nil, false, true}, {[]int{1}, false, true}, {[]int{1, 2}, false, false}, {[]int{1, 2}, true, true}} {
		for _, input := range c.kept {
			j.fed[input].kept = &keptInput{}
		}
		if s.waiting = nil; c.waits {
			s.waiting = []filterWait{{}}
		}
		if got := j.wanted(s); got != c.wanted {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
