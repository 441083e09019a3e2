package fabric

import (
	"slices"
	"sync"
	"time"

	"gpujoin/joincore/mesh"
)

// line is copies under way that end one after the other, in this order.
type line struct{ copies []posted }

// posted is a copy under way.
type posted struct {
	end  ending // nil: the copy could not be queued
	over        // what follows
}

// ending tells when a copy has ended.
type ending interface {
	// ended reports whether the copy has ended, or returns the error by which it has failed.
	ended() (bool, error)
}

// add puts a copy behind the others.
func (l *line) add(p posted) { l.copies = append(l.copies, p) }

// take removes the copies that have ended and calls each for them.
//
// The end of a copy is that of all before it. A copy over a slow link, which cannot have
// ended yet, does not delay those behind it over faster links: they are asked in its place.
func (l *line) take(now time.Time, each func(posted)) {
	ended := 0
	for i := range l.copies {
		p := &l.copies[i]
		if now.Before(p.until) {
			continue
		}
		done, err := ended == i, error(nil) // one that could not be queued ends with those before it
		if p.end != nil {
			done, err = p.end.ended()
		}
		if !done && err == nil {
			break
		}
		for ; ended <= i; ended++ {
			if l.copies[ended].err == nil {
				l.copies[ended].err = err
			}
		}
	}
	for _, p := range l.copies[:ended] {
		each(p)
	}
	l.copies = slices.Delete(l.copies, 0, ended)
}

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
