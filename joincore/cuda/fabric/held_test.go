package fabric

import (
	"errors"
	"testing"
	"time"

	"gpujoin/testsupport/machines"
)

// A copy ends when its link allows, one that fails at once.
func TestHeld(t *testing.T) {
	var h held
	var ended []error
	done := func(err error) { ended = append(ended, err) }
	at := time.Unix(100, 0)
	broken := errors.New("link down")
	h.add(over{done: done, until: at.Add(time.Second)})
	h.add(over{done: done, until: at.Add(2 * time.Second)})
	if h.end(at) || len(ended) != 0 || !h.any() {
		t.Fatalf("%d copies ended early", len(ended))
	}
	h.add(over{done: done, until: at.Add(time.Hour), err: broken})
	h.add(over{done: done})
	if len(ended) != 2 || !errors.Is(ended[0], broken) || ended[1] != nil {
		t.Fatalf("ended: %v", ended)
	}
	at = at.Add(time.Second)
	if !h.end(at) || len(ended) != 3 || !h.any() {
		t.Fatalf("ended: %v", ended)
	}
	at = at.Add(time.Hour)
	if !h.end(at) || len(ended) != 4 || h.any() {
		t.Fatalf("ended: %v", ended)
	}
}

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
