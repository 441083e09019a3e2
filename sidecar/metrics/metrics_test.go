package metrics

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/sidecar"
	"gpujoin/sidecar/executor"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// busy is the status of a daemon that has everything.
func busy() *sidecar.Status {
	s := &sidecar.Status{
		Version: "1.2.3", Rates: sidecar.RatesDefault, Budget: 1000, Reserved: 600, Queued: 2, Sessions: 5,
		Jobs: []sidecar.JobStatus{{ID: 1, State: "feeding"}, {ID: 2, State: "streaming", UnreadS: 7}, {ID: 3, State: "streaming", UnreadS: 3}},
		Devices: []executor.Device{
			{Provider: "cpu", Name: "A \"B\" C", State: "ready"},
			{Provider: "cuda", Number: 1, Name: "G\xff", State: "broken", Restarts: 4},
		},
		Memory:  []joincore.AccountUsage{{Path: "daemon", Used: 10}, {Path: "daemon/kept", Used: 3}, {Path: "daemon/job 7", Used: 4}, {Path: "daemon/job 7/plan", Used: 4}},
		Phases:  []sidecar.PhaseStatus{{Phase: "feed", Bounds: []float64{0.1, 1}, Counts: []int64{3, 5}, Count: 6, SumS: 9.5}},
		Process: sidecar.ProcessStatus{Goroutines: 17, CPUS: 1.5},
	}
	s.Totals.Admitted, s.Totals.Finished, s.Totals.Reasons = 9, 6, map[string]int64{"busy": 3}
	return s
}

// TestNames: the names, units and helps are what Prometheus's own linter asks for.
func TestNames(t *testing.T) {
	problems, err := testutil.GatherAndLint(New(busy))
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// TestValues looks at one series of each kind.
func TestValues(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, busy()); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		"# TYPE gpujoin_jobs_admitted_total counter",
		"gpujoin_jobs_admitted_total 9",
		`gpujoin_jobs_ended_total{outcome="finished"} 6`,
		`gpujoin_job_failures_total{reason="busy"} 3`,
		`gpujoin_job_failures_total{reason="resources"} 0`, // so that its first increase is seen
		`gpujoin_jobs{state="queued"} 2`,
		`gpujoin_jobs{state="streaming"} 2`,
		`gpujoin_jobs{state="running"} 0`,
		"gpujoin_oldest_unread_result_seconds 7",
		"gpujoin_memory_reserved_bytes 600",
		`gpujoin_memory_account_bytes{account="daemon/kept"} 3`,
		`gpujoin_job_phase_seconds_bucket{phase="feed",le="0.1"} 3`,
		`gpujoin_job_phase_seconds_bucket{phase="feed",le="+Inf"} 6`,
		`gpujoin_job_phase_seconds_sum{phase="feed"} 9.5`,
		`gpujoin_device_state{device="1",provider="cuda",state="broken"} 1`,
		`gpujoin_device_info{device="0",model="A \"B\" C",provider="cpu"} 1`,
		`gpujoin_device_info{device="1",model="G?",provider="cuda"} 1`,
		"gpujoin_rates_default 1",
		"go_goroutines 17",
		"process_cpu_seconds_total 1.5",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, "job 7") {
		t.Error("each job has a series of its own")
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestListener: the listener serves the same text, and nothing else, until it is closed.
func TestListener(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if _, err := Listen(address, busy, log); err == nil {
		t.Fatal("two listeners have one address")
	}
	free.Close()
	l, err := Listen(address, busy, log)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string) (int, string) {
		r, err := client.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
	var want bytes.Buffer
	if err := Write(&want, busy()); err != nil {
		t.Fatal(err)
	}
	if code, body := get("/metrics"); code != http.StatusOK || body != want.String() {
		t.Errorf("%d:\n%s\nprinted:\n%s", code, body, want.String())
	}
	if code, _ := get("/"); code != http.StatusNotFound {
		t.Errorf("/: %d", code)
	}
	l.Close()
	if _, err := client.Get("http://" + address + "/metrics"); err == nil {
		t.Error("the listener serves after it was closed")
	}
}
