package mgj

import "testing"

func TestFastMemory(t *testing.T) {
	if !fastMemory(4800, 375) || fastMemory(3350, 375) {
		t.Error("rows are copied between two H200, and stored between two H100")
	}
}

func TestCopiesPay(t *testing.T) {
	const half = leastCopied / 2
	for _, c := range []struct {
		strategy      Strategy
		gpus          int
		sent          [2]int64
		columns, fast bool
		want          bool
	}{
		{Exchange, 2, [2]int64{half, half}, true, true, true},
		{Exchange, 2, [2]int64{half, half - 1}, true, true, false},
		{Exchange, 2, [2]int64{half, half}, true, false, false},
		{Exchange, 2, [2]int64{1, 1}, false, false, true},
		{Exchange, 2, [2]int64{half, half}, false, true, true},
		{Replicate, 2, [2]int64{leastReplicated / 2, 0}, true, false, true},
		{Replicate, 2, [2]int64{leastReplicated/2 - 1, 10 * half}, false, true, false},
		{Replicate, 8, [2]int64{leastReplicated / 8, 0}, true, true, true},
		{Alone, 2, [2]int64{half, half}, false, true, false},
	} {
		if got := c.strategy.copiesPay(c.gpus, c.sent, c.columns, c.fast); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
