package fault

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpujoin/tests/harness"
)

// Joins of two tables at which devices can meet: the rows, and their sums.
const (
	exchanged    = "select f.id, f.k, d.v from fact f join dim d on f.k = d.k"
	exchangedSum = "select count(*), sum(f.id), sum(d.v) from fact f join dim d on f.k = d.k"
)

// exchangedTexts are joins of which texts are read after devices have met: of both tables, by groups, and of
// rows that a third table is joined to or that are sorted.
var exchangedTexts = []string{
	"select f.id, f.note, d.v, d.note from fact f join dim d on f.k = d.k where d.v < 30000",
	"select d.note, count(*), sum(f.id) from fact f join dim d on f.k = d.k group by d.note",
	"select f.note, d.note from fact f join dim d on f.k = d.k order by f.id, d.v limit 100",
	theJoin,
}

// meetings are the strategies by which devices meet at a join.
var meetings = []string{"exchange", "spread"}

// meetingWorld is a world whose worker has devices that execute jobs by meeting at a join.
func meetingWorld(t *testing.T, strategy, visible string) (*world, *harness.Session) {
	t.Helper()
	t.Setenv("CUDA_VISIBLE_DEVICES", visible)
	t.Setenv("GPUJOIND_CUDA_STRATEGY", strategy)
	w := workerWorld(t)
	return w, w.proxied(t, serial)
}

// TestMeeting: under the daemon's setting, devices meet at a join, and return the native plan's
// rows, also texts. A join at which they cannot is executed as without the setting, and EXPLAIN says why.
func TestMeeting(t *testing.T) {
	for _, c := range []struct{ strategy, visible string }{
		{"exchange", "0:team,1:team"}, {"exchange", "0:team,1:team,2:team,3:team"},
		{"spread", "0:team,1:team"}, {"spread", "0:team,1:team,2:team"},
		{"hybrid", "0:team"}, {"hybrid", "0:team,1:team"},
	} {
		t.Run(c.strategy+" "+c.visible, func(t *testing.T) {
			devices := strings.Count(c.visible, ",") + 1
			algorithm, otherwise := fmt.Sprintf("+%s x%d", c.strategy, devices), "replicate"
			if devices == 1 {
				algorithm, otherwise = "+"+c.strategy, "alone"
			}
			w, s := meetingWorld(t, c.strategy, c.visible)
			parallel := w.proxied(t, "set max_parallel_workers_per_gather = 2")
			for _, sql := range append([]string{exchanged, exchangedSum}, exchangedTexts...) {
				w.right(t, sql, <-ask(s, sql))
				w.right(t, sql, <-ask(parallel, sql))
				g := w.explained(t, s, sql)
				met := 0
				for _, j := range g.Joins() {
					if strings.HasSuffix(j.Text("Algorithm"), algorithm) && j.Text("Algorithm Reason") == "" {
						met++
					}
				}
				if g.Text("Provider") != "cuda" || g.Number("Devices") != float64(devices) || g.Text("Strategy") != c.strategy || met != 1 {
					t.Errorf("%s ran on %v devices of %s, by %s, of %v", sql, g.Number("Devices"), g.Text("Provider"), g.Text("Strategy"), g.Joins())
				}
			}
			const outer = "select f.id, d.note from fact f left join dim d on f.k = d.k and d.v > 100"
			w.right(t, outer, <-ask(s, outer))
			if g := w.explained(t, s, outer); g.Text("Strategy") != otherwise || !strings.HasPrefix(g.Text("Strategy Reason"), "not "+c.strategy+": no inner join of two inputs") {
				t.Errorf("an outer join is executed by %q: %q", g.Text("Strategy"), g.Text("Strategy Reason"))
			}
			w.unharmed(t, s)
		})
	}
}

// TestMeetingIsEnded: the statement is cancelled while devices meet, or the worker dies or stops
// then. The statement ends at once, or has the rows of the cores; the next one runs on all devices
// again.
func TestMeetingIsEnded(t *testing.T) {
	for _, strategy := range meetings {
		t.Run(strategy, func(t *testing.T) { meetingIsEnded(t, strategy) })
	}
}

func meetingIsEnded(t *testing.T, strategy string) {
	for name, c := range map[string]struct {
		end   func(t *testing.T, w *world, s *harness.Session)
		state string // of the error; "": right rows
	}{
		"cancelled": {func(t *testing.T, w *world, s *harness.Session) {
			query(t, w.Witness, fmt.Sprintf("select pg_cancel_backend(%d)", s.PID()))
		}, "57014"},
		"terminated": {func(t *testing.T, w *world, s *harness.Session) {
			query(t, w.Witness, fmt.Sprintf("select pg_terminate_backend(%d)", s.PID()))
		}, "57P01"},
		"killed":  {func(t *testing.T, w *world, _ *harness.Session) { send(t, w.worker(t), syscall.SIGKILL) }, ""},
		"stopped": {func(t *testing.T, w *world, _ *harness.Session) { send(t, w.worker(t), syscall.SIGSTOP) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			hang := faultFile(t)
			w, s := meetingWorld(t, strategy, "0:team="+hang+",1:team="+hang)
			if err := os.WriteFile(hang, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			done := ask(s, exchanged)
			for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
				if _, err := os.Stat(hang); err != nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the devices do not meet")
				}
			}
			c.end(t, w, s)
			if c.state != "" {
				ended(t, (<-done).err, c.state)
			} else {
				w.right(t, exchanged, <-done)
			}
			w.restarted(t, 1)
			w.workerReady(t)
			other := w.proxied(t, serial)
			if g := w.explained(t, other, exchanged); g.Number("Devices") != 2 || g.Text("Provider Fallback") != "" {
				t.Errorf("the next one ran on %v devices of %s: %q", g.Number("Devices"), g.Text("Provider"), g.Text("Provider Fallback"))
			}
			w.right(t, exchanged, <-ask(other, exchanged))
			w.unharmed(t, other)
		})
	}
}
