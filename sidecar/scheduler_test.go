package sidecar

import (
	"fmt"
	"slices"
	"testing"
)

// These tests go through every order in which a join, its participants and the
// rules of dealing can act. A participant that holds a batch is taken to stand
// still for as long as any other one waits for a batch: so does a parallel
// worker whose leader waits, and whoever meets others at a barrier. No state
// may be left without a way on.

// dealing are rules of dealing under test. Participants are numbered.
type dealing interface {
	clone() dealing
	ask(i, credits int)
	admit() (ended []int)
	next() int // -1: no participant
	back(i int)
	leave(i int)
	end() (ended []int)
	limit(free int, disk bool)
	owed() int
}

// course is a job's result on its way, in one state.
type course struct {
	rules   dealing
	window  int
	toMake  int // batches that the join has not made yet
	ready   int
	spools  bool // batches may move to disk
	disk    int  // batches on disk
	spare   int  // extents into which those are read back
	readers []courseReader
}

type courseReader struct {
	started, ended, left bool
	unread, held         int // batches: sent and not opened, and those with the open one
}

func (c *course) clone() *course {
	n := *c
	n.rules, n.readers = c.rules.clone(), slices.Clone(c.readers)
	return &n
}

func (c *course) key() string {
	return fmt.Sprint(c.toMake, c.ready, c.disk, c.spare, c.readers, c.rules)
}

func (c *course) held() (n int) {
	for _, r := range c.readers {
		n += r.held
	}
	return n
}

// waits says whether a participant can do nothing before it is sent a frame.
func (r courseReader) waits() bool { return r.started && !r.ended && !r.left && r.held == 0 }

// schedule is what the job does after every event.
func (c *course) schedule() {
	c.rules.limit(c.ready+c.spare, c.disk > 0)
	for _, i := range c.rules.admit() {
		c.readers[i].ended = true
	}
	for c.ready > 0 {
		i := c.rules.next()
		if i < 0 {
			return
		}
		c.ready--
		c.readers[i].held++
		c.readers[i].unread++
	}
	if c.toMake+c.disk == 0 {
		for _, i := range c.rules.end() {
			c.readers[i].ended = true
		}
	}
}

// steps returns every state that can follow.
func (c *course) steps(leave bool) (out []*course) {
	after := func(change func(n *course)) {
		n := c.clone()
		change(n)
		n.schedule()
		out = append(out, n)
	}
	if c.toMake > 0 && c.held()+c.ready+c.spare < c.window {
		after(func(n *course) { n.toMake--; n.ready++ })
	}
	surplus := c.ready+c.spare > c.rules.owed()
	if c.spools && c.ready > 0 && surplus {
		after(func(n *course) { n.ready--; n.disk++ })
	}
	if c.spare > 0 && (surplus || c.disk == 0) {
		after(func(n *course) { n.spare-- })
	}
	if c.spare > 0 && c.disk > 0 {
		after(func(n *course) { n.spare--; n.disk--; n.ready++ })
	}
	waiting := slices.ContainsFunc(c.readers, courseReader.waits)
	for i, r := range c.readers {
		if r.left {
			continue
		}
		if leave && r.started {
			after(func(n *course) {
				n.readers[i] = courseReader{started: true, left: true}
				n.rules.leave(i)
			})
		}
		if !r.started {
			after(func(n *course) {
				n.readers[i].started = true
				n.rules.ask(i, 2)
			})
		}
		if r.held > r.unread && !waiting { // gives back what it has read
			after(func(n *course) {
				n.readers[i].held--
				n.rules.back(i)
				if n.disk > 0 {
					n.spare++
				}
			})
		}
		if r.unread > 0 && r.held == r.unread { // opens the next
			after(func(n *course) {
				n.readers[i].unread--
				n.rules.ask(i, 1)
			})
		}
	}
	return out
}

// over says whether everybody who is there knows that nothing comes any more.
// Rows may be left only where a participant is gone, which ends its query.
func (c *course) over(leave bool) bool {
	for _, r := range c.readers {
		if !r.left && !(r.ended && r.held == 0) {
			return false
		}
	}
	return leave || c.toMake+c.ready+c.disk == 0
}

// deadlock looks for a state without a way on.
func deadlock(start *course, leave bool) (states int, stuck *course) {
	seen := map[string]bool{start.key(): true}
	for queue := []*course{start}; len(queue) > 0; queue = queue[1:] {
		c := queue[0]
		next := c.steps(leave)
		if len(next) == 0 && !c.over(leave) {
			return len(seen), c
		}
		for _, n := range next {
			if k := n.key(); !seen[k] {
				seen[k] = true
				queue = append(queue, n)
			}
		}
	}
	return len(seen), nil
}

// TestDealerNeverStarves enumerates windows that are larger and smaller than
// the number of participants, with those that were not expected, that never
// ask, and that leave, and with batches that move to disk at any time.
func TestDealerNeverStarves(t *testing.T) {
	total := 0
	for window := 1; window <= 6; window++ {
		for expected := 1; expected <= 3; expected++ {
			for come := 1; come <= expected+1 && come <= 3; come++ {
				for _, leave := range []bool{false, true} {
					for _, spools := range []bool{false, true} {
						c := &course{rules: newRealDealing(window, expected), window: window, spools: spools, toMake: 5, readers: make([]courseReader, come)}
						if spools {
							c.window, c.toMake = c.window+1, 4 // one batch is the join's own
						}
						n, stuck := deadlock(c, leave)
						if total += n; stuck != nil {
							t.Errorf("window of %d, %d participants expected, %d come: stuck at %s", window, expected, come, stuck.key())
						}
					}
				}
			}
		}
	}
	if total < 10_000 {
		t.Errorf("only %d states", total)
	}
}

// TestGreedyDealingStarves sees that the enumeration finds the deadlock of the
// obvious rules: the participant that holds the fewest batches gets the next one,
// and none gets more than its share of the window.
func TestGreedyDealingStarves(t *testing.T) {
	for _, window := range []int{2, 3, 4} {
		rules := &greedyDealing{share: 2, readers: make([]greedyReader, 3)}
		if _, stuck := deadlock(&course{rules: rules, window: window, toMake: 5, readers: make([]courseReader, 3)}, false); stuck == nil {
			t.Errorf("no deadlock was found with a window of %d", window)
		}
	}
}

// TestDealerKeepsTheJoinBusy: a single participant may take more than one
// batch, and those that hoard leave the others theirs.
func TestDealerKeepsTheJoinBusy(t *testing.T) {
	for _, c := range []struct{ window, participants, want int }{
		{1, 1, 1}, {2, 1, 2}, {16, 1, 16}, {4, 2, 2}, {6, 2, 3}, {16, 2, 8}, {24, 11, 2}, {3, 11, 1},
	} {
		d := &scheduler{}
		d.open(c.window, c.participants)
		r := d.join()
		r.credits = 1000
		if ended := d.admit(); len(ended) > 0 {
			t.Errorf("the first of %d was turned away", c.participants)
		}
		n := 0
		for d.next() == r {
			n++
		}
		if n != c.want {
			t.Errorf("window of %d, %d participants: the first one gets %d batches, not %d", c.window, c.participants, n, c.want)
		}
	}
}

// realScheduler drives the scheduler.
type realScheduler struct {
	scheduler scheduler
	number    []*reader // of a participant
}

func newRealDealing(window, participants int) *realScheduler {
	r := &realScheduler{number: make([]*reader, 4)}
	r.scheduler.open(window, participants)
	return r
}

func (r *realScheduler) clone() dealing {
	n := &realScheduler{scheduler: r.scheduler, number: make([]*reader, len(r.number))}
	n.scheduler.readers = nil
	for _, o := range r.scheduler.readers {
		c := *o
		n.scheduler.readers = append(n.scheduler.readers, &c)
		n.number[slices.Index(r.number, o)] = &c
	}
	return n
}

func (r *realScheduler) String() string {
	s := fmt.Sprint(r.scheduler.coming)
	for _, o := range r.scheduler.readers {
		s += fmt.Sprint(" ", slices.Index(r.number, o), *o)
	}
	return s
}

func (r *realScheduler) ask(i, credits int) {
	if r.number[i] == nil {
		r.number[i] = r.scheduler.join()
	}
	r.number[i].credits += uint64(credits)
}

func (r *realScheduler) numbers(readers []*reader) (out []int) {
	for _, o := range readers {
		out = append(out, slices.Index(r.number, o))
	}
	return out
}

func (r *realScheduler) admit() []int { return r.numbers(r.scheduler.admit()) }
func (r *realScheduler) end() []int   { return r.numbers(r.scheduler.end()) }
func (r *realScheduler) back(i int)   { r.scheduler.back(r.number[i]) }

func (r *realScheduler) next() int {
	if o := r.scheduler.next(); o != nil {
		return slices.Index(r.number, o)
	}
	return -1
}

func (r *realScheduler) limit(free int, disk bool) { r.scheduler.limit(free, disk) }
func (r *realScheduler) owed() int                 { return r.scheduler.owed() }

func (r *realScheduler) leave(i int) {
	r.scheduler.leave(r.number[i])
	r.number[i] = nil
}

// greedyDealing keeps nothing back for those that hold no batch.
type greedyDealing struct {
	share   int
	readers []greedyReader
}

type greedyReader struct {
	credits, held int
	asked, ended  bool
}

func (g *greedyDealing) clone() dealing {
	return &greedyDealing{g.share, slices.Clone(g.readers)}
}

func (g *greedyDealing) String() string { return fmt.Sprint(g.readers) }

func (g *greedyDealing) ask(i, credits int) {
	g.readers[i].credits += credits
	g.readers[i].asked = true
}

func (g *greedyDealing) admit() []int    { return nil }
func (g *greedyDealing) limit(int, bool) {}
func (g *greedyDealing) owed() int       { return 0 }
func (g *greedyDealing) back(i int)      { g.readers[i].held-- }
func (g *greedyDealing) leave(i int)     { g.readers[i] = greedyReader{} }

func (g *greedyDealing) next() int {
	best := -1
	for i, r := range g.readers {
		if r.credits > 0 && r.held < g.share && (best < 0 || r.held < g.readers[best].held) {
			best = i
		}
	}
	if best >= 0 {
		g.readers[best].credits--
		g.readers[best].held++
	}
	return best
}

func (g *greedyDealing) end() (ended []int) {
	for i := range g.readers {
		if r := &g.readers[i]; r.asked && !r.ended {
			r.ended = true
			ended = append(ended, i)
		}
	}
	return ended
}
