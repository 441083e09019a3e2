package fault

import (
	"fmt"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// A block over a table that each participant shares, with values that would be
// wrong if the rows of one participant were missing or were counted twice.
const theBlock = "select f.g, count(*), sum(f.id), stddev(f.k) from fact f join dim d on f.k = d.k group by f.g having sum(f.id) > (select min(k) from tiny t join dim d on t.g = d.k)"

const blocks = "set gpujoin.enable_aggregates = on; set gpujoin.explain_rejected = off"

// A participant of a parallel block is cut off after it has fed a part of its
// share, all of it, or before the job runs; or the daemon is killed then. A group
// never lacks the rows of one participant: the native plan runs.
func TestBlockLosesAParticipant(t *testing.T) {
	w := theWorld(t)
	for _, leader := range []string{"on", "off"} {
		for _, c := range []struct {
			name string
			msg  int
			nth  int
		}{
			{"open", harness.MsgOpen, 1},
			{"attach", harness.MsgAttach, 1},
			{"first batch", harness.MsgFilled, 1},
			{"second batch", harness.MsgFilled, 2},
			{"one has fed", harness.MsgFed, 1},
			{"two have fed", harness.MsgFed, 2},
			{"run", harness.MsgRun, 1},
		} {
			for _, kill := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, leader %s, kill %v", c.name, leader, kill), func(t *testing.T) {
					what, process := "connection cut", worker
					if kill {
						what, process = "killed", daemon
					}
					point.Point{What: what, Process: process, Moment: c.name, Shape: parallelBlock + ", leader " + leader, Expect: point.AllRows}.Announce(t)
					s := w.proxied(t, blocks, "set max_parallel_workers_per_gather = 2; set parallel_leader_participation = "+leader)
					isParallelBlock(t, s, theBlock)
					h, done := w.held(t, s, theBlock, c.msg, c.nth)
					if kill {
						if err := w.Daemon.Kill(); err != nil {
							t.Fatal(err)
						}
						h.Release()
					} else {
						h.Cut()
					}
					w.right(t, theBlock, <-done)
					w.unharmed(t, s)
				})
			}
		}
	}
}

// isParallelBlock checks that a query's topmost node is a block above a Gather.
func isParallelBlock(t *testing.T, s *harness.Session, sql string) {
	t.Helper()
	plan := strings.Join(query(t, s, "explain (costs off) "+sql).Rows, "\n")
	if !strings.HasPrefix(plan, "Custom Scan (OffloadBlock)") || !strings.Contains(plan, "Parallel Custom Scan (OffloadFeed)") {
		t.Fatalf("no parallel block:\n%s", plan)
	}
}

// A serial block is hit in each phase of its job: the native plan answers, as long as no row
// has been returned.
func TestKillBlock(t *testing.T) {
	w := theWorld(t)
	for _, ph := range chosen("hello", "open", "queue", "first want", "grant", "mid feed", "fed", "run", "running", "first result") {
		for _, fault := range []string{"kill", "cut"} {
			t.Run(ph.name+", "+fault, func(t *testing.T) {
				e := ph.serial
				if fault == "cut" {
					e = ph.cut
				}
				point.Point{What: what[fault], Process: daemon, Moment: ph.name, Shape: serialBlock, Expect: e.String()}.Announce(t)
				s := w.proxied(t, blocks, serial)
				h := w.Proxy.HoldFrame(ph.msg, ph.nth)
				done := ask(s, theBlock)
				reached(t, h, done)
				if fault == "cut" {
					h.Cut()
				} else {
					if err := w.Daemon.Kill(); err != nil {
						t.Fatal(err)
					}
					h.Release()
				}
				w.check(t, e, theBlock, <-done)
				w.unharmed(t, s)
			})
		}
	}
}
