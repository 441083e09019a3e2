package fault

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"gpujoin/shm"
	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// theFilter drops most rows of fact before they are fed, by the keys of 300 rows
// of dim.
const theFilter = "select count(*), sum(f.id), sum(d.v) from fact f join dim d on f.k = d.k where d.v < 3000"

// messages are those of a filter, in their order.
var messages = []struct {
	name string
	msg  int
}{
	{"input fed", harness.MsgInputFed}, {"filter requested", harness.MsgFilterGet},
	{"filter", harness.MsgFilter}, {"filtered", harness.MsgFiltered},
}

var participants = []struct{ name, settings string }{
	{"serial", serial},
	{"parallel", "set max_parallel_workers_per_gather = 2;"},
	{"parallel without the leader", "set max_parallel_workers_per_gather = 2; set parallel_leader_participation = off;"},
}

// filters returns the filters of a query's only job, after its execution.
func filters(t *testing.T, s *harness.Session, sql string) (list []harness.Node) {
	t.Helper()
	ctx, cancel := bounded()
	defer cancel()
	plan, err := s.Explain(ctx, "analyze, timing off", sql)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range plan.Jobs() {
		for _, in := range n.Inputs() {
			list = append(list, in.KeyFilters()...)
		}
	}
	return list
}

// The daemon is killed, or the connection cut, at each message of a filter.
func TestKillWhileFiltering(t *testing.T) {
	w := theWorld(t)
	for _, m := range messages {
		for _, p := range participants {
			for _, fault := range []string{"kill", "cut"} {
				t.Run(fmt.Sprintf("%s, %s, %s", m.name, p.name, fault), func(t *testing.T) {
					point.Point{What: what[fault], Process: daemon, Moment: m.name + " (key filter)", Shape: p.name + " join", Expect: point.AllRows}.Announce(t)
					s := w.proxied(t, p.settings)
					h := w.Proxy.HoldFrame(m.msg, 1)
					done := ask(s, theFilter)
					reached(t, h, done)
					if fault == "cut" {
						h.Cut()
					} else {
						if err := w.Daemon.Kill(); err != nil {
							t.Fatal(err)
						}
						h.Release()
					}
					w.right(t, theFilter, <-done)
					w.unharmed(t, s)
				})
			}
		}
	}
}

// A statement that waits for a filter can be ended in every way, even while the
// daemon would let it wait for ever.
func TestEndWhileWaitingForAFilter(t *testing.T) {
	w := theWorld(t)
	for _, p := range participants {
		for _, m := range messages[:3] {
			for _, way := range ways {
				t.Run(fmt.Sprintf("%s, %s, %s", p.name, m.name, way.name), func(t *testing.T) {
					point.Point{What: way.name, Process: oneBackend, Moment: m.name + " (key filter)", Shape: p.name + " join", Expect: way.expect()}.Announce(t)
					s := w.proxied(t, waits, p.settings, way.setting)
					h := w.Proxy.HoldFrame(m.msg, 1)
					done := ask(s, theFilter)
					reached(t, h, done)
					pid := s.PID()
					way.act(t, w, s)
					a := soon(t, done)
					if way.state != "" {
						ended(t, a.err, way.state)
					}
					h.Release()
					if a.err == nil || way.state != "57014" {
						goneBackend(t, w, pid)
						s = nil
					}
					w.unharmed(t, s)
				})
			}
		}
	}
}

// Workers that end between the inputs end their query; no participant waits for
// them.
func TestTerminateWorkerBetweenInputs(t *testing.T) {
	w := theWorld(t)
	for _, m := range messages[:3] {
		t.Run(m.name, func(t *testing.T) {
			s := w.proxied(t, waits, participants[2].settings)
			h := w.Proxy.HoldFrame(m.msg, 1)
			done := ask(s, theFilter)
			reached(t, h, done)
			awaitWorkers(t, w, s.PID())
			signal(t, w, fmt.Sprintf("select bool_or(pg_terminate_backend(pid)) from pg_stat_activity where leader_pid = %d", s.PID()))
			ended(t, soon(t, done).err, "57P01")
			h.Release()
			w.right(t, theFilter, <-ask(s, theFilter))
			w.unharmed(t, s)
		})
	}
}

// Filters and their messages that are not what was requested: the native plan
// answers.
func TestHostileFilters(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w, theFilter)
	if list := filters(t, v.Session, theFilter); len(list) != 1 || list[0].Number("Rows Dropped") == 0 {
		t.Fatalf("%v", list)
	}
	body := func(at, n int, value uint64) lie {
		return edit(func(f *harness.Frame) { put(f.Body(), at, n, value) })
	}
	extent := func(change func(b []byte)) lie {
		return func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
			for _, fd := range f.FDs() {
				mapped(t, fd, change)
			}
			return []*harness.Frame{f}, true
		}
	}
	header := func(at, n int, value uint64) lie { return extent(func(b []byte) { put(b, at, n, value) }) }
	for name, l := range map[string]lie{
		"another filter":       body(8, 4, 1),
		"filter out of range":  body(8, 4, 1<<32-1),
		"no filter but one fd": body(12, 4, uint64(shm.FilterNone)),
		"another kind":         body(12, 4, uint64(shm.FilterBloom)),
		"an unknown kind":      body(12, 4, 4),
		"a filter of bytes":    body(12, 4, uint64(shm.FilterBloomBytes)),
		"bytes in both": func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
			put(f.Body(), 12, 4, uint64(shm.FilterBloomBytes))
			return header(6, 2, uint64(shm.FilterBloomBytes))(t, f)
		},
		"short": edit(func(f *harness.Frame) { f.Bytes = f.Bytes[:len(f.Bytes)-4]; setLength(f, uint32(len(f.Body()))) }),
		"twice": func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
			return append(again(t, f, 1), f), true
		},
		"no magic":             header(0, 4, 0),
		"another version":      header(4, 2, shm.LayoutVersion+1),
		"kind in the header":   header(6, 2, uint64(shm.FilterBloom)),
		"no kind":              header(6, 2, 0),
		"bytes of half a word": header(8, 4, 4),
		"bytes past the end":   header(8, 4, extentSize),
		"bytes without end":    header(8, 4, 1<<32-8),
		"bytes without keys":   header(16, 8, 0),
		"reserved bytes":       header(12, 4, 1),
		"a greater minimum":    header(24, 8, 1<<40),
		"a range past the end": header(32, 8, 1<<40),
		"all ranges":           extent(func(b []byte) { put(b, 24, 8, 1<<63); put(b, 32, 8, 1<<63-1) }),
		"zeros":                extent(func(b []byte) { clear(b[:64]) }),
	} {
		t.Run(name, func(t *testing.T) {
			v.suffers(t, harness.MsgFilter, 1, l, rightRows, theFilter)
		})
	}
	for _, n := range noExtents {
		if n.copied {
			continue
		}
		t.Run(n.name, func(t *testing.T) {
			v.suffers(t, harness.MsgFilter, 1, func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
				f.SetFDs(n.make(t))
				return []*harness.Frame{f}, true
			}, rightRows, theFilter)
		})
	}
	w.unharmed(t, v.Session)
}

// If the budget has no memory for a filter, the query goes on without one.
func TestNoMemoryForAFilter(t *testing.T) {
	w := theWorld(t)
	for _, c := range []struct {
		name  string
		spare int64
		rows  bool
	}{{"none", 0, false}, {"plenty", 64 << 20, true}} {
		t.Run(c.name, func(t *testing.T) {
			budget := strconv.FormatInt(w.reservation(t, theFilter)+c.spare, 10) + "B"
			d := w.daemonWith(t, "narrow", harness.DaemonOptions{"memory-warm": "0B", "memory-budget": budget})
			s := w.Session(t, forced, serial, "set gpujoin.socket = '"+d.Socket+"'")
			defer s.Close()
			list := filters(t, s, theFilter)
			if len(list) != 1 || (list[0].Text("Reason") == "no memory is free for it") == c.rows || (list[0].Number("Rows Dropped") > 0) != c.rows {
				t.Errorf("%v", list)
			}
			w.right(t, theFilter, <-ask(s, theFilter))
		})
	}
}

// reservation returns the bytes that a query's job reserves before it is fed.
func (w *world) reservation(t *testing.T, sql string) int64 {
	t.Helper()
	s := w.proxied(t, serial)
	defer s.Close()
	h := w.Proxy.HoldFrame(harness.MsgInputFed, 1)
	done := ask(s, sql)
	reached(t, h, done)
	other := w.Session(t, forced)
	defer other.Close()
	r := reportOf(t, other)
	h.Release()
	if a := <-done; a.err != nil || len(r.Jobs) != 1 {
		t.Fatalf("%+v, %v", r, a.err)
	}
	return r.Reserved
}

// A session's filters follow its parameters: each execution gets its own.
func TestFiltersOfRescans(t *testing.T) {
	w := theWorld(t)
	for _, p := range participants {
		s := w.proxied(t, p.settings, "set plan_cache_mode = force_generic_plan")
		exec(t, s, "prepare q(int) as select count(*), sum(f.id) from fact f join dim d on f.k = d.k where d.v < $1 and d.v >= $1 - 300")
		for _, limit := range []int{300, 3000, 0, 49000} {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			got, err := s.Query(ctx, fmt.Sprintf("execute q(%d)", limit))
			cancel()
			w.right(t, fmt.Sprintf("select count(*), sum(f.id) from fact f join dim d on f.k = d.k where d.v < %d and d.v >= %[1]d - 300", limit), answer{got, err})
		}
		_ = s.Close()
	}
}
