package soak

import (
	"math"
	"testing"
	"time"
)

// A leak is found; a level, noise, a single peak, and a cache that fills early are none.
func TestJudge(t *testing.T) {
	const n = 90
	for name, c := range map[string]struct {
		value func(i int) float64
		grows bool
	}{
		"a level":                {func(int) float64 { return 300 }, false},
		"noise":                  {func(i int) float64 { return 300 + 40*math.Sin(float64(i*i)) }, false},
		"a peak":                 {func(i int) float64 { return 300 + 600*max(0, float64(1-abs(i-70))) }, false},
		"a cache that fills":     {func(i int) float64 { return 300 * (1 - math.Exp(-float64(i)/9)) }, false},
		"a leak":                 {func(i int) float64 { return 100 + 3*float64(i) }, true},
		"a leak since some time": {func(i int) float64 { return 100 + 5*max(0, float64(i-30)) }, true},
		"it becomes less":        {func(i int) float64 { return 400 - 3*float64(i) }, false},
	} {
		var x, y []float64
		for i := range n {
			x, y = append(x, float64(i)/3600), append(y, c.value(i))
		}
		if g := judge("p", "m", x, y, 24); g.Grows != c.grows {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

func abs(i int) int { return max(i, -i) }

// A process that leaks is found among others that live as long; one that came late is not
// judged by itself.
func TestGrown(t *testing.T) {
	var samples []sample
	for i := range 60 {
		s := sample{at: time.Duration(i) * time.Second, processes: map[int]usage{1: {Anonymous: 50, title: "session"}, 2: {Anonymous: 50 + 2*float64(i), title: "session"}}, sums: map[string]usage{}}
		if i > 30 {
			s.processes[3] = usage{Anonymous: 50 * float64(i), title: "session"}
		}
		s.sums[kindServer] = usage{Threads: 3}
		samples = append(samples, s)
	}
	list, err := grown(samples)
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	for _, g := range list {
		if g.Process == "session 3" {
			t.Errorf("judged: %+v", g)
		}
		if g.Grows {
			wrong = append(wrong, g.Process+" "+g.Metric)
		}
	}
	if len(wrong) != 1 || wrong[0] != "session 2 anonymous MB" {
		t.Errorf("%q", wrong)
	}
	if _, err := grown(samples[:5]); err == nil {
		t.Error("five samples are enough")
	}
}
