package fabric

import (
	"sync"
	"time"

	"gpujoin/joincore/mesh"
)

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
