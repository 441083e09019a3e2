package fabric

import (
	"slices"
	"sync"
	"time"

	"gpujoin/joincore/mesh"
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

// caps says when a copy may end at the earliest on links that are slower than those it
// really crosses. A link serves one copy at a time.
type caps struct {
	mu    sync.Mutex
	links []mesh.Link
	busy  []time.Time // by link: until when
}

func newCaps(m *mesh.Mesh) *caps { return &caps{links: m.Links, busy: make([]time.Time, len(m.Links))} }

// ends books the links of a hop for a copy and returns when it ends.
func (c *caps) ends(now time.Time, h *mesh.Hop, bytes int64) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := now
	for _, l := range h.Links {
		link := &c.links[l]
		start := c.busy[l]
		if start.Before(now) {
			start = now
		}
		c.busy[l] = start.Add(time.Duration(float64(bytes+link.Half) / link.GBps))
		if c.busy[l].After(end) {
			end = c.busy[l]
		}
	}
	return end.Add(h.Latency)
}
