package fabric

import (
	"slices"
	"time"
)

// over is what follows the end of a copy.
type over struct {
	done  func(error)
	err   error
	until time.Time // the copy ends no earlier; zero: no matter
}

// held is copies that have really ended, but whose links are slower.
type held struct{ list []over }

// add ends a copy, now or, if its link is slower, later.
func (h *held) add(o over) {
	if o.err != nil || o.until.IsZero() {
		o.done(o.err)
		return
	}
	h.list = append(h.list, o)
}

// end ends the copies whose time has come, and reports whether there were some.
func (h *held) end(now time.Time) bool {
	before := len(h.list)
	h.list = slices.DeleteFunc(h.list, func(o over) bool {
		if now.Before(o.until) {
			return false
		}
		o.done(nil)
		return true
	})
	return len(h.list) < before
}

func (h *held) any() bool { return len(h.list) > 0 }
