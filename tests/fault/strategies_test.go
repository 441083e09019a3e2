package fault

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestStrategies: EXPLAIN has a line for how devices executed a job, with what they had of each other
// and the predicted time where it is known. The view of devices and a check say how jobs can be
// executed, and why not otherwise.
func TestStrategies(t *testing.T) {
	const ms, times = `[0-9]+\.[0-9]{3} ms`, `  Join: predicted [0-9]+\.[0-9]{3} ms, actual [0-9]+\.[0-9]{3} ms`
	for strategy, c := range map[string]struct {
		visible string
		line    string // a regular expression
		able    string // as a check says it
	}{
		"alone": {"0", `alone, 1 device` + times, "alone; not replicate, divide, exchange, spread: there is one device; not hybrid: devices make no table together"},
		"replicate": {
			"0,1", `replicate, 2 devices  Exchanged: 0 bytes  Waited: ` + ms + times,
			"alone, replicate; not divide: devices do not partition inputs together; not exchange: devices exchange no rows; not spread, hybrid: devices make no table together",
		},
		"divide": {
			"0:divide,1:divide", `divide, 2 devices  Exchanged: 0 bytes  Waited: ` + ms,
			"alone, replicate, divide; not exchange: devices exchange no rows; not spread, hybrid: devices make no table together",
		},
		"exchange": {
			"0:team,1:team", `exchange, 2 devices  Exchanged: [1-9][0-9]* bytes over 1 hop(?:  Meeting: ` + ms + `)?  Waited: ` + ms + times,
			"alone, replicate, exchange, spread, hybrid; not divide: devices do not partition inputs together",
		},
		"spread": {
			"0:team,1:team", `spread, 2 devices  Exchanged: [1-9][0-9]* bytes over 1 hop(?:  Meeting: ` + ms + `)?  Waited: ` + ms + times,
			"alone, replicate, exchange, spread, hybrid; not divide: devices do not partition inputs together",
		},
		"hybrid": {
			"0:team,1:team", `hybrid, 2 devices  Exchanged: [1-9][0-9]* bytes over 1 hop(?:  Meeting: ` + ms + `)?  Waited: ` + ms + times,
			"alone, replicate, exchange, spread, hybrid; not divide: devices do not partition inputs together",
		},
	} {
		t.Run(strategy, func(t *testing.T) {
			t.Setenv("CUDA_VISIBLE_DEVICES", c.visible)
			t.Setenv("GPUJOIND_CUDA_STRATEGY", strategy)
			w := workerWorld(t)
			s := w.proxied(t, serial)
			waits := 0 // at a meeting: now and then two devices come in the same microsecond
			for _, sql := range []string{exchanged, exchangedSum} {
				w.right(t, sql, <-ask(s, sql))
				text := strings.Join(query(t, s, "explain (analyze) "+sql).Rows, "\n")
				if !regexp.MustCompile(`(?m)^ *Strategy: ` + c.line + `$`).MatchString(text) {
					t.Errorf("no line of the strategy %s in:\n%s", strategy, text)
				}
				untimed := strings.Join(query(t, s, "explain (analyze, summary off) "+sql).Rows, "\n")
				if line := regexp.MustCompile(`(?m)^ *Strategy: .*$`).FindString(untimed); line == "" || strings.Contains(line, " ms") {
					t.Errorf("without times: %q in\n%s", line, untimed)
				}
				g := w.explained(t, s, sql)
				if g.Text("Strategy") != strategy || g.Text("Strategy Reason") != "" || (g.Number("Predicted Join Time") > 0) != (strategy != "divide") {
					t.Errorf("%v", g)
				}
				if strings.Contains(text, "  Meeting: ") || g.Number("Meeting Wait Time") > 0 {
					waits++
				}
				if (g.Number("Bytes Exchanged") > 0) != (strategy == "hybrid" || slices.Contains(meetings, strategy)) {
					t.Errorf("%v", g)
				}
				for _, name := range []string{"Bytes Exchanged", "Hops", "Meeting Wait Time", "Device Wait Time"} {
					if _, has := g[name]; has != (strategy != "alone") {
						t.Errorf("%s has %s: %v", strategy, name, has)
					}
				}
			}
			if waits > 0 != (strategy == "hybrid" || slices.Contains(meetings, strategy)) {
				t.Errorf("%d times devices waited at a meeting", waits)
			}
			w.saysAble(t, c.able)
			w.unharmed(t, s)
		})
	}
}

// TestPeerAccessOff: devices that do not access each other's memory exchange rows through that of the host,
// and make no table together. EXPLAIN says why, a check and the view say so beforehand.
func TestPeerAccessOff(t *testing.T) {
	const off = "cuda_peer_access is off"
	for strategy, want := range map[string]struct{ strategy, reason string }{
		"exchange":  {"exchange", "through host memory: " + off},
		"spread":    {"replicate", "not spread: " + off},
		"replicate": {"replicate", ""},
	} {
		t.Run(strategy, func(t *testing.T) {
			t.Setenv("CUDA_VISIBLE_DEVICES", "0:team,1:team")
			t.Setenv("GPUJOIND_CUDA_STRATEGY", strategy)
			t.Setenv("GPUJOIND_CUDA_PEER_ACCESS", "off")
			w := workerWorld(t)
			s := w.proxied(t, serial)
			for _, sql := range []string{exchanged, exchangedSum} {
				w.right(t, sql, <-ask(s, sql))
				if g := w.explained(t, s, sql); g.Text("Strategy") != want.strategy || g.Text("Strategy Reason") != want.reason {
					t.Errorf("ran by %q: %q", g.Text("Strategy"), g.Text("Strategy Reason"))
				}
			}
			w.saysAble(t, "alone, replicate, exchange (through host memory: "+off+"); not divide: devices do not partition inputs together; not spread, hybrid: "+off)
			notes := query(t, s, `select count(*) from gpujoin.devices, jsonb_array_elements(strategies::jsonb) s where s->>'strategy' = 'exchange' and s->>'note' = 'through host memory: `+off+`'`)
			if got := strings.Join(notes.Rows, ""); !strings.Contains(got, "2") {
				t.Errorf("%s devices have the note", got)
			}
			w.unharmed(t, s)
		})
	}
}

// saysAble tests that a check and the view of devices say how jobs can be executed.
func (w *world) saysAble(t *testing.T, want string) {
	t.Helper()
	out, err := w.Cluster.Output("check", "--socket", w.Daemon.Socket, "--provider", "cuda")
	if err != nil || !regexp.MustCompile(`(?m)^strategies +ok +`+regexp.QuoteMeta(want)+`$`).MatchString(out) {
		t.Errorf("%v: no %q in\n%s", err, want, out)
	}
	type able []struct{ Strategy, Reason string }
	var check struct {
		Checks     []struct{ OK bool }
		Strategies []struct {
			Device     int
			Strategies able
		}
	}
	out, err = w.Cluster.Output("check", "--json", "--socket", w.Daemon.Socket, "--provider", "cuda")
	if err == nil {
		err = json.Unmarshal([]byte(out), &check)
	}
	if err != nil || len(check.Checks) < 10 || len(check.Strategies) == 0 {
		t.Errorf("%v: %s", err, out)
	}
	rows := query(t, w.Witness, "select strategies from gpujoin.devices where provider = 'cuda' order by device").Rows
	if len(rows) != len(check.Strategies) {
		t.Fatalf("%q", rows)
	}
	for i, row := range rows {
		var view able
		if err := json.Unmarshal([]byte(row), &view); err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		var possible []string
		for _, s := range view {
			if s.Reason == "" {
				possible = append(possible, s.Strategy)
			}
		}
		listed, _, _ := strings.Cut(regexp.MustCompile(` \([^)]*\)`).ReplaceAllString(want, ""), "; not ")
		if len(view) != 6 || strings.Join(possible, ", ") != listed || !slices.Equal(view, check.Strategies[i].Strategies) {
			t.Errorf("device %d: the view says %+v, a check %+v", i, view, check.Strategies[i])
		}
	}
	if n, err := w.Witness.One(t.Context(), "select count(*)::text from gpujoin.stat_devices where strategies is null"); err != nil || n != "1" { // the cores
		t.Errorf("%s devices have no strategies: %v", n, err)
	}
}
