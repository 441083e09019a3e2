package sqltest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// Report is the part of the daemon's report that tests read.
type Report struct {
	Reserved, Used, Budget int64
	Queued, Sessions       int
	Pool                   struct {
		Extents, Free int
		ExtentSize    int64 `json:"extent_size"`
		KeptBlocks    int64 `json:"kept_blocks"`
	}
	Totals struct {
		Joins, Refused int64
		Violations     int64 `json:"protocol_errors"`
	}
	Jobs   []struct{ State string }
	Memory []struct {
		Path string
		Used int64
	}
	Kept struct {
		Pending int // parts of tables that are still copied
	}
}

// kept returns the bytes of the extents that the daemon keeps between jobs.
func (r *Report) kept() int64 {
	for _, account := range r.Memory {
		if account.Path == "daemon/kept" || account.Path == "daemon/mirrors" {
			return account.Used
		}
	}
	return 0
}

// ReportOf returns the report of the session's daemon.
func ReportOf(t testing.TB, s *harness.Session) (r Report) {
	t.Helper()
	text := Query(t, s, "select coalesce(status::text, failure) from gpujoin.daemon_status()").Rows[0]
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, `\\`, `\`)), &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return r
}

// Settled waits until the daemon holds no job, no reservation and no session
// but the caller's, and all extents are back in its pool. It may keep columns.
func Settled(t testing.TB, s *harness.Session) {
	t.Helper()
	var r Report
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		r = ReportOf(t, s)
		used := int64(r.Pool.Extents-r.Pool.Free) * r.Pool.ExtentSize
		if len(r.Jobs) == 0 && r.Reserved == r.kept() && r.Sessions <= 1 && r.Queued == 0 && used == r.kept() && r.Kept.Pending == 0 {
			return
		}
	}
	point.Leak(t, "the daemon still holds something: %+v", r)
}

// Released checks that a backend between statements holds no resources of a job.
func Released(t testing.TB, s *harness.Session) {
	t.Helper()
	if h, err := harness.HoldingsOf(s.PID()); err == nil && (h.MemFDs > 0 || h.Mapped > 0) {
		point.Leak(t, "the backend still holds %+v", h)
	}
}

// Expect returns what the witness gets, which asks PostgreSQL once. A test that changes a
// table deletes the results that depend on it from Native.
func (w *World) Expect(t testing.TB, sql string) *harness.Result {
	t.Helper()
	if w.Native[sql] == nil {
		w.Native[sql] = Query(t, w.Witness, sql)
	}
	return w.Native[sql]
}

// Unharmed checks the state after a fault: the server has not restarted, a session from
// before it continues and its query is right, the daemon, the server and the backend (if it
// still lives) hold nothing more than before, and the next query is offloaded.
func (w *World) Unharmed(t testing.TB, s *harness.Session) {
	t.Helper()
	if now := Query(t, w.Witness, "select pg_postmaster_start_time()").Rows[0]; now != w.started {
		point.Restart(t, "the postmaster restarted: %s, %s", w.started, now)
	}
	other := w.Session(t, Forced)
	defer other.Close()
	Settled(t, other)
	w.Unleaked(t, other)
	if s != nil {
		Released(t, s)
	}
	if plan := Explain(t, other, "analyze, timing off", TheSum); plan.OffloadedJoins() != 1 {
		t.Errorf("of the next query %d joins were offloaded: %v", plan.OffloadedJoins(), plan)
	}
	want := w.Expect(t, TheSum)
	for who, session := range map[string]*harness.Session{"a session from before": w.Witness, "a new session": other} {
		if d := harness.SameRows(want, Query(t, session, TheSum)); d != "" {
			point.Wrong(t, "%s: %s", who, d)
		}
	}
}
