package fabric

import (
	"testing"
	"time"

	"gpujoin/testsupport/machines"
)

// Copies over one link follow each other; those over other links do not wait.
func TestCaps(t *testing.T) {
	m, err := machines.Mesh("dgx1")
	if err != nil {
		t.Fatal(err)
	}
	c := newCaps(m)
	now := time.Now()
	first, other := m.Direct(0, 3)[0], m.Direct(0, 4)[0]
	const bytes = 64 << 20
	took := first.Time(bytes)
	for i := 1; i <= 3; i++ {
		if got, want := c.ends(now, first, bytes).Sub(now), time.Duration(i)*took+first.Latency; got < want-time.Microsecond || got > want+time.Microsecond {
			t.Errorf("copy %d ends after %v, want %v", i, got, want)
		}
	}
	if got, want := c.ends(now, other, bytes).Sub(now), other.Time(bytes)+other.Latency; got < want-time.Microsecond || got > want+time.Microsecond {
		t.Errorf("the copy over another link ends after %v, want %v", got, want)
	}
	later := now.Add(time.Second)
	if got, want := c.ends(later, first, bytes).Sub(later), took+first.Latency; got < want-time.Microsecond || got > want+time.Microsecond {
		t.Errorf("a later copy ends after %v, want %v", got, want)
	}
}
