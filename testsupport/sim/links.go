package sim

import (
	"math"
	"time"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
)

// job is a copy.
type job struct {
	batch *exchange.Batch
	into  exchange.Place
	uses  []int         // servers
	left  float64       // bytes, with Half
	rate  float64       // bytes a nanosecond
	since time.Duration // when left was true
	end   time.Duration
}

func (j *job) hop() *mesh.Hop { return j.batch.Route.Hops[j.batch.Hop] }

// links shares bandwidth among copies: max-min fairness over the servers, which
// are links and pools. The copies of one hop are carried out one by one.
type links struct {
	capacity []float64 // of each server, bytes a nanosecond
	users    []int     // copies that use it now
	hopUses  [][]int   // servers by hop ID
	lines    [][]*job  // by hop ID; the first is under way
	active   []*job
	spare    []float64
	sharers  []int
}

func newLinks(m *mesh.Mesh) *links {
	l := &links{lines: make([][]*job, len(m.Hops()))}
	for _, link := range m.Links {
		l.capacity = append(l.capacity, link.GBps)
	}
	for _, p := range m.Pools {
		l.capacity = append(l.capacity, p.GBps)
	}
	l.users = make([]int, len(l.capacity))
	l.spare, l.sharers = make([]float64, len(l.capacity)), make([]int, len(l.capacity))
	for _, h := range m.Hops() {
		var uses []int
		for _, i := range h.Links {
			uses = append(uses, i)
			if p := m.Links[i].Pool; p > 0 {
				uses = append(uses, len(m.Links)+p-1)
			}
		}
		l.hopUses = append(l.hopUses, uses)
	}
	return l
}

func (l *links) post(now time.Duration, b *exchange.Batch, into exchange.Place) {
	h := b.Route.Hops[b.Hop]
	j := &job{batch: b, into: into, uses: l.hopUses[h.ID], left: float64(b.Wire + h.Half)}
	l.lines[h.ID] = append(l.lines[h.ID], j)
	if len(l.lines[h.ID]) == 1 {
		l.begin(now, j)
	}
}

func (l *links) begin(now time.Duration, j *job) {
	shared := false
	j.since = now
	l.active = append(l.active, j)
	for _, u := range j.uses {
		shared = shared || l.users[u] > 0
		l.users[u]++
	}
	if shared {
		l.share(now)
		return
	}
	rate := math.Inf(1)
	for _, u := range j.uses {
		rate = min(rate, l.capacity[u])
	}
	j.set(now, rate)
}

// set changes a copy's rate.
func (j *job) set(now time.Duration, rate float64) {
	j.left -= float64(j.rate * float64(now-j.since)) // no fused operation: traces are equal on all machines
	j.since, j.rate = now, rate
	j.end = now + time.Duration(math.Ceil(max(j.left, 0)/rate))
}

// pause stops all copies for some time.
func (l *links) pause(d time.Duration) {
	for _, j := range l.active {
		j.since += d
		j.end += d
	}
}

// next returns the copy that ends first, and when.
func (l *links) next() (time.Duration, *job) {
	var first *job
	for _, j := range l.active {
		if first == nil || j.end < first.end {
			first = j
		}
	}
	if first == nil {
		return 0, nil
	}
	return first.end, first
}

// finish ends a copy and begins the next one over its hop.
func (l *links) finish(now time.Duration, done *job) {
	for i, j := range l.active {
		if j == done {
			l.active = append(l.active[:i], l.active[i+1:]...)
			break
		}
	}
	shared := false
	for _, u := range done.uses {
		l.users[u]--
		shared = shared || l.users[u] > 0
	}
	id := done.hop().ID
	l.lines[id] = l.lines[id][1:]
	if len(l.lines[id]) > 0 {
		l.begin(now, l.lines[id][0])
	} else if shared {
		l.share(now)
	}
}

// share gives each copy its max-min fair rate: again and again, the server that
// can give its remaining copies least fixes their rate.
func (l *links) share(now time.Duration) {
	copy(l.spare, l.capacity)
	copy(l.sharers, l.users)
	open := append([]*job(nil), l.active...)
	for len(open) > 0 {
		tightest, least := -1, math.Inf(1)
		for u, n := range l.sharers {
			if n > 0 && l.spare[u]/float64(n) < least {
				tightest, least = u, l.spare[u]/float64(n)
			}
		}
		rest := open[:0]
		for _, j := range open {
			if !uses(j, tightest) {
				rest = append(rest, j)
				continue
			}
			for _, u := range j.uses {
				l.spare[u] = max(l.spare[u]-least, 0)
				l.sharers[u]--
			}
			if j.rate != least {
				j.set(now, least)
			}
		}
		open = rest
	}
}

func uses(j *job, server int) bool {
	for _, u := range j.uses {
		if u == server {
			return true
		}
	}
	return false
}
