//go:build cuda

package transferjoin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gpujoin/joincore/cuda/links"
)

// Each method joins rightly, or its row says why it does not.
func TestMeasure(t *testing.T) {
	w, err := Sized(1 << 22)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Measure(t.Context(), Config{Workload: w, Repeats: 2, Unified: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Rows) != len(links.Methods()) {
		t.Fatalf("%d rows", len(report.Rows))
	}
	for i, m := range links.Methods() {
		r := report.Rows[i]
		able := report.Platform.Unable(m) == ""
		if r.Method != m || (r.MS > 0) != able && !strings.HasPrefix(r.Note, "refused") || r.MS == 0 && r.Note == "" || r.MS > 0 && r.Algorithm == "" {
			t.Errorf("%+v", r)
		}
	}
	var table strings.Builder
	if err := report.Print(&table); err != nil {
		t.Error(err)
	}
	t.Log("\n" + table.String())
	report, err = Measure(t.Context(), Config{Workload: w, Repeats: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Rows {
		if r.Method.Unified() && (r.MS > 0 || !strings.Contains(r.Note, "-unified")) {
			t.Errorf("pages migrate without being asked for: %+v", r)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w, _ := Sized(1 << 20)
	if _, err := Measure(ctx, Config{Workload: w, Repeats: 1}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Measure(t.Context(), Config{Workload: w}); err == nil {
		t.Error("no repeats were measured")
	}
}
