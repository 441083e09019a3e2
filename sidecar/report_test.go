package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/shm"
	"gpujoin/sidecar/executor"
	"gpujoin/testsupport/backend"
)

// wantPhases holds a report of one join on cores against its phases: they end
// with the gathering, and all took the join's time.
func wantPhases(t *testing.T, r *shm.Report) {
	t.Helper()
	if len(r.JoinList) != 1 || len(r.JoinList[0].PhaseList) < 2 {
		t.Errorf("joins %+v", r.JoinList)
		return
	}
	j := r.JoinList[0]
	var total uint64
	for _, p := range j.PhaseList {
		total += p.ActualNS
	}
	if last := j.PhaseList[len(j.PhaseList)-1]; shm.Text(last.Name[:]) != "gather" || (last.ActualNS == 0) != (r.RowsOut == 0) || total/1000 != j.US {
		t.Errorf("phases %+v of a join of %d us", j.PhaseList, j.US)
	}
}

// TestJoinReport: whatever a provider says of a join, the report is one that
// a backend believes.
func TestJoinReport(t *testing.T) {
	stats := joincore.JoinStats{Algorithm: "phj-öm\n", Reason: strings.Repeat("reason\n", 20), BuildLeft: true, Bits: 14, Time: 3 * time.Millisecond}
	for i := range 2 * shm.MaxPhases {
		stats.Phases = append(stats.Phases, joincore.Phase{
			Name: "a name of a phase that is too long, " + string(rune('a'+i)), Predicted: 2, Actual: time.Duration(i + 1),
		})
	}
	sent := &shm.Report{JoinList: []shm.JoinReport{joinReport(1, &stats)}}
	got, err := backend.DecodeReport(shm.AppendReport(nil, sent)[shm.FrameSize:])
	must(t, err)
	j := got.JoinList[0]
	if shm.Text(j.Algorithm[:]) != "phj-?m?" || j.Join != 1 || j.BuildLeft != 1 || j.Bits != 14 || j.US != 3000 {
		t.Errorf("%+v", j.JoinStats)
	}
	if reason := shm.Text(j.Reason[:]); len(reason) != len(j.Reason)-1 || !strings.HasPrefix(reason, "reason?reason?") {
		t.Errorf("reason %q", reason)
	}
	if len(j.PhaseList) != shm.MaxPhases {
		t.Fatalf("%d phases", len(j.PhaseList))
	}
	first, last := j.PhaseList[0], j.PhaseList[shm.MaxPhases-1]
	if shm.Text(first.Name[:]) != "a name of a phase that is too l" || first.ActualNS != 10 || first.PredictedNS != 2 {
		t.Errorf("first %+v", first)
	}
	if shm.Text(last.Name[:]) != "other" || last.ActualNS != 45 || last.PredictedNS != 18 {
		t.Errorf("last %+v", last)
	}
}

// working is a backend whose joins have asked something of a device.
type working struct{ executor.Last }

func (w working) Run(ctx context.Context, job *executor.Job, stats *joincore.Stats) error {
	err := w.Last.Run(ctx, job, stats)
	for i := range stats.Joins {
		stats.Joins[i].Work = joincore.DeviceWork{Launches: 17, Syncs: 3, Bytes: 12345, Peak: 678}
	}
	return err
}

// TestDeviceWorkIsLogged: what a join has asked of its device is in the log.
func TestDeviceWorkIsLogged(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	must(t, err)
	defer file.Close()
	change := func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	r := start(t, change, working{NewLocal(cpu.New(), 2, nil)})
	rows := tableRows(100, 100, "x")
	b := r.dial(0)
	_, err = b.Open(shm.Open{}, joinJob(len(rows), len(rows), len(rows)))
	must(t, err)
	must(t, b.Feed(0, tableShapes, rows, 0))
	must(t, b.Feed(1, tableShapes, rows, 0))
	must(t, b.Fed(shm.Fed{}))
	must(t, b.Run(1))
	got, err := b.Drain(resultShapes, 2)
	must(t, err)
	sameRows(t, got, joinOf(rows, rows))
	want := []string{"join=0", "provider=cpu", "launches=17", "syncs=3", "bytes=12345", "peak=678", "rows=91"}
	r.eventually("the log has all of the join", func() (bool, string) {
		log, err := os.ReadFile(file.Name())
		must(t, err)
		for line := range strings.Lines(string(log)) {
			missing := func(word string) bool { return !strings.Contains(line, word) }
			if strings.Contains(line, "join finished") && !slices.ContainsFunc(want, missing) {
				return true, ""
			}
		}
		return false, string(log)
	})
}

// spread is a backend whose jobs were executed by several devices.
type spread struct {
	executor.Last
	says joincore.Stats
}

func (s spread) Run(ctx context.Context, job *executor.Job, stats *joincore.Stats) error {
	err := s.Last.Run(ctx, job, stats)
	stats.Strategy, stats.StrategyReason, stats.Predicted = s.says.Strategy, s.says.StrategyReason, s.says.Predicted
	stats.Devices, stats.Sent, stats.Hops, stats.Met, stats.Waited = s.says.Devices, s.says.Sent, s.says.Hops, s.says.Met, s.says.Waited
	return err
}

// TestReportOfDevices: the report says how devices executed a job, and as much as is known of it.
// The shortest wait at a meeting is one.
func TestReportOfDevices(t *testing.T) {
	for _, c := range []struct {
		says joincore.Stats
		want shm.Stats // of numbers
	}{
		{joincore.Stats{}, shm.Stats{}},
		{joincore.Stats{Strategy: "alone", StrategyReason: "not exchange: there is one device", Predicted: 5 * time.Millisecond}, shm.Stats{PredictedUS: 5000}},
		{
			joincore.Stats{Strategy: "exchange", Devices: 4, Sent: 1 << 40, Hops: 1, Met: 1, Waited: time.Second, Predicted: time.Second},
			shm.Stats{Devices: 4, SentBytes: 1 << 40, Hops: 1, MeetingWaitUS: 1, DeviceWaitUS: 1e6, PredictedUS: 1e6},
		},
	} {
		r := start(t, nil, spread{NewLocal(cpu.New(), 2, nil), c.says})
		rows := tableRows(100, 100, "x")
		b := r.dial(0)
		joined(t, b, shm.Open{}, joinJob(len(rows), len(rows), len(rows)), rows)
		got, err := b.Stats()
		must(t, err)
		numbers := shm.Stats{
			Devices: got.Devices, Hops: got.Hops, SentBytes: got.SentBytes, DeviceWaitUS: got.DeviceWaitUS, MeetingWaitUS: got.MeetingWaitUS, PredictedUS: got.PredictedUS,
		}
		if strategy, reason := shm.Text(got.Strategy[:]), shm.Text(got.StrategyReason[:]); strategy != c.says.Strategy || reason != c.says.StrategyReason || numbers != c.want {
			t.Errorf("%+v: %q, %q, %+v", c.says, strategy, reason, numbers)
		}
		b.Close()
	}
}

// TestReportedBytes: few rows in a large extent are few bytes.
func TestReportedBytes(t *testing.T) {
	r := start(t, nil, nil)
	rows := tableRows(100, 100, "x")
	b := r.dial(0)
	got := joined(t, b, shm.Open{}, joinJob(len(rows), len(rows), len(rows)), rows)
	stats, err := b.Stats()
	must(t, err)
	const row = 8 + 8 + 4 + 8 + 1 // two keys, an offset, a short text, bits
	if most := uint64(2 * row * len(rows)); stats.BytesIn > most || stats.BytesIn == 0 {
		t.Errorf("%d bytes in, of no more than %d", stats.BytesIn, most)
	}
	if most := uint64(row * len(got)); stats.BytesOut > most || stats.BytesOut == 0 {
		t.Errorf("%d bytes out, of no more than %d", stats.BytesOut, most)
	}
	b.Close()
}

// TestMemoryOfTheStatus: accounts add up to what the daemon has, and to what the list of jobs
// says.
func TestMemoryOfTheStatus(t *testing.T) {
	r := start(t, func(o *Options) { o.MemoryBudget, o.SpoolLimit = 32<<20, 0 }, nil) // the join waits for space for results
	rows := tableRows(20_000, 1_000, "x")
	c := r.dial(1)
	_, err := c.Open(shm.Open{}, joinJob(20_000, 20_000, 400_000))
	must(t, err)
	must(t, c.Feed(0, tableShapes, rows, 0))
	must(t, c.Feed(1, tableShapes, rows, 0))
	must(t, c.Fed(shm.Fed{}))
	must(t, c.Run(1))
	must(t, c.Next(2))
	e, err := c.Result()
	must(t, err)
	r.eventually("the accounts add up", func() (bool, string) {
		s := r.status()
		used, parts := map[string]joincore.AccountUsage{}, int64(0)
		for _, u := range s.Memory {
			used[u.Path] = u
			if strings.Count(u.Path, "/") == 1 {
				parts += u.Used
			}
			if u.Used < 0 || u.Peak < u.Used {
				t.Errorf("%+v", u)
			}
		}
		j := jobOf(s, 1)
		name := fmt.Sprintf("daemon/job %d", j.ID)
		all, job := used["daemon"], used[name]
		return all.Used == parts && all.Limit == s.Budget && job.Used == j.Used && job.Limit == j.Reserved &&
				used[name+"/results"].Used >= s.Pool.ExtentSize && used[name+"/inputs"].Peak >= 2*s.Pool.ExtentSize && used[name+"/plan/cores"].Peak > 0,
			fmt.Sprintf("%+v", s)
	})
	must(t, c.Release(e))
	c.Close()
	r.eventually("the job's accounts have gone", func() (bool, string) {
		list := r.status().Memory
		return !slices.ContainsFunc(list, func(u joincore.AccountUsage) bool { return strings.Contains(u.Path, "job") }), fmt.Sprintf("%+v", list)
	})
}
