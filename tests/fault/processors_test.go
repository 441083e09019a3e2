package fault

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gpujoin/shm"
)

// A parallel native plan takes the longer, the fewer processors its processes share.
// The daemon knows their number: a container may use few of a machine's.
func TestParallelPlansShareProcessors(t *testing.T) {
	w := theWorld(t)
	costs := regexp.MustCompile(`native cost ([\d.]+), offloaded cost (\d+\.\d\d)`)
	relative := func(processors uint32) (native float64) {
		t.Run(strconv.Itoa(int(processors)), func(t *testing.T) {
			pulse{every: 20 * time.Millisecond, share: 1000, edit: func(s *shm.Status) { s.Processors = processors }}.play(t, w, w.Proxy.Socket)
			s := w.Session(t, "set gpujoin.socket = '"+w.Proxy.Socket+"'", "set gpujoin.min_rows = 0", "set gpujoin.startup_cost = 1e9",
				"set gpujoin.explain_rejected = on", "set max_parallel_workers_per_gather = 4")
			defer s.Close()
			plan := query(t, s, "explain "+theSum)
			m := costs.FindStringSubmatch(strings.Join(s.Notices(), "\n"))
			if m == nil || !strings.Contains(strings.Join(plan.Rows, "\n"), "Workers Planned") {
				t.Fatalf("no costs of a parallel plan: %v %v", s.Notices(), plan.Rows)
			}
			x, err1 := strconv.ParseFloat(m[1], 64)
			y, err2 := strconv.ParseFloat(m[2], 64)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			native = x / y
		})
		return native
	}
	one, two, four := relative(1), relative(2), relative(4)
	for _, ratio := range []float64{one / two, two / four} {
		if ratio < 1.5 || ratio > 2.5 {
			t.Errorf("the native plan's relative costs with one, two and four processors are %g, %g, %g", one, two, four)
		}
	}
	w.unharmed(t, nil)
}
