package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/sidecar"
	"gpujoin/sidecar/config"
	"gpujoin/sidecar/executor"
	"gpujoin/testsupport/suite"
)

// jobOf is a join of two inputs with the given number of rows.
func jobOf(t *testing.T, rows int) *executor.Job {
	columns := []joincore.Column{{Kind: joincore.Fixed, Width: 8, Align: 8}}
	job, plan := &executor.Job{}, &joincore.Plan{
		Root: &joincore.Join{
			Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1},
			Keys: []joincore.KeyPair{{Left: joincore.ColumnRef{Input: 0}, Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
		},
		Output: []joincore.ColumnRef{{Input: 0}, {Input: 1}},
	}
	for range 2 {
		plan.Inputs = append(plan.Inputs, joincore.Input{Columns: columns, Rows: float64(rows)})
		job.Inputs = append(job.Inputs, &joincore.Relation{Columns: columns, Segments: []joincore.Segment{{Rows: rows}}})
	}
	job.Plan = suite.Checked(t, plan)
	return job
}

// Jobs go to a GPU by what both are known to take: a device that turns out slow
// gets none.
func TestWorth(t *testing.T) {
	cfg := &config.Config{Socket: filepath.Join(t.TempDir(), "s"), Cores: 8, Calibrate: true}
	cores := costmodel.Rates{ColumnNS: 0.5}
	for i := range costmodel.Points {
		cores.BuildNS[i], cores.ProbeNS[i] = 25, 20
	}
	predicted := worth(cfg, sidecar.NewRates(cores, sidecar.RatesMeasured))
	is := func(job *executor.Job) bool { return predicted(job, nil) }
	if is(jobOf(t, 10_000)) || !is(jobOf(t, 50_000_000)) {
		t.Errorf("small ones go there: %v, large ones: %v", is(jobOf(t, 10_000)), is(jobOf(t, 50_000_000)))
	}
	slow := costmodel.DefaultDeviceRates
	slow.LinkInGB, slow.LinkOutGB = 0.1, 0.1
	if err := costmodel.SaveRates(deviceRates(cfg), costmodel.SavedRates{Key: "k", At: time.Now(), Rates: slow}); err != nil {
		t.Fatal(err)
	}
	if is(jobOf(t, 50_000_000)) {
		t.Error("jobs go to a device behind a slow link")
	}
}

// A check says which rates are used, and why not others.
func TestUsedRates(t *testing.T) {
	cfg := &config.Config{Socket: filepath.Join(t.TempDir(), "s"), Calibrate: true}
	says := func(want string) {
		t.Helper()
		if got := usedRates(cfg); !strings.Contains(got, want) {
			t.Errorf("%q in place of %q", got, want)
		}
	}
	says("none were measured")
	if err := os.WriteFile(deviceRates(cfg), []byte("[{}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	says("default rates: " + deviceRates(cfg) + ": a rate of 0")
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if err := costmodel.SaveRates(deviceRates(cfg), costmodel.SavedRates{Key: "k", At: at, Rates: costmodel.DefaultDeviceRates}); err != nil {
		t.Fatal(err)
	}
	says("rates of 2026-11-21 12:00:00")
	cfg.Calibrate = false
	says("default rates")
}
