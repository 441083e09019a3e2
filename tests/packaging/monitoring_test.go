package packaging

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/sidecar"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/metrics"
	"gpujoin/tests/harness"
)

func place(t *testing.T, parts ...string) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

func text(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(place(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// promtool runs a command of Prometheus's own tool, which make test fetches.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	program := place(t, "build", "bin", "promtool")
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("promtool"); err != nil {
			t.Skip("needs promtool")
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = place(t, "packaging", "monitoring")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

// wantSeries reports names in an expression that no daemon exports.
func wantSeries(t *testing.T, where, expr string) {
	t.Helper()
	var exported bytes.Buffer
	if err := metrics.Write(&exported, &sidecar.Status{
		Devices: []executor.Device{{Provider: "cpu"}},
		Memory:  []joincore.AccountUsage{{Path: "daemon"}},
		Phases:  []sidecar.PhaseStatus{{Phase: "join", Bounds: []float64{1}, Counts: []int64{0}}},
	}); err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\b(?:gpujoin|go|process)_[a-z_]+`).FindAllString(expr, -1)
	if len(names) == 0 && !strings.HasPrefix(expr, "up{") {
		t.Errorf("%s: %s asks for no metric", where, expr)
	}
	for _, name := range names {
		if !regexp.MustCompile(`(?m)^` + name + `[{ ]`).Match(exported.Bytes()) {
			t.Errorf("%s: no daemon exports %s", where, name)
		}
	}
}

// The alert rules are valid, do what their own tests say, ask for metrics that exist, and are
// explained.
func TestAlertRules(t *testing.T) {
	rules := text(t, "packaging", "monitoring", "gpujoin.rules.yml")
	page := text(t, "docs", "monitoring.md")
	alerts := regexp.MustCompile(`(?s)- alert: (\w+)\s+expr: (.*?)\n +(?:for|labels):`).FindAllStringSubmatch(rules, -1)
	if len(alerts) < 8 || len(alerts) != strings.Count(rules, "- alert:") {
		t.Fatalf("found %d alerts", len(alerts))
	}
	for _, a := range alerts {
		wantSeries(t, a[1], a[2])
		if !strings.Contains(page, "`"+a[1]+"`") {
			t.Errorf("monitoring.md does not explain %s", a[1])
		}
	}
	promtool(t, "check", "rules", "gpujoin.rules.yml")
	promtool(t, "test", "rules", "gpujoin.rules.test.yml")
}

// The dashboard's queries are valid and ask for metrics that exist.
func TestDashboard(t *testing.T) {
	var board struct {
		Panels []struct {
			Title, Type string
			ID          int
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(text(t, "packaging", "monitoring", "gpujoin-dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*")
	recorded, ids := "groups:\n- name: queries\n  rules:\n", map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s is empty, or has the number of another one", p.Title)
		}
		ids[p.ID] = true
		for i, q := range p.Targets {
			expr := variables.Replace(q.Expr)
			wantSeries(t, p.Title, expr)
			recorded += fmt.Sprintf("  - record: panel:%d_%d\n    expr: %q\n", p.ID, i, expr)
		}
	}
	if strings.Count(recorded, "record:") < 20 {
		t.Errorf("few queries:\n%s", recorded)
	}
	file := filepath.Join(t.TempDir(), "queries.yml")
	if err := os.WriteFile(file, []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}

// monitoring.md explains every metric, and no other.
func TestMetricsAreExplained(t *testing.T) {
	_, page, _ := strings.Cut(text(t, "docs", "monitoring.md"), "| metric | type | meaning |")
	page, _, _ = strings.Cut(page, "\n\n")
	wantSeries(t, "monitoring.md", strings.ReplaceAll(page, "gpujoin_job_phase_seconds", "gpujoin_job_phase_seconds_bucket"))
	code := text(t, "sidecar", "metrics", "collector.go") + text(t, "sidecar", "metrics", "resources.go")
	names := regexp.MustCompile(`"((?:gpujoin|go|process)_[a-z_]+)", ?\n?\s*"`).FindAllStringSubmatch(code, -1)
	if len(names) < 50 {
		t.Errorf("found %d metrics", len(names))
	}
	for _, m := range names {
		if !strings.Contains(page, "`"+m[1]+"`") {
			t.Errorf("monitoring.md does not explain %s", m[1])
		}
	}
}
