package fabric

import (
	"errors"
	"testing"
	"time"
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
