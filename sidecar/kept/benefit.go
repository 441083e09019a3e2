package kept

import (
	"errors"
	"math"
	"time"

	"gpujoin/joincore"
)

// What feeding costs that a kept column saves, in nanoseconds: with their pages, rows of star
// joins take 20 to 40.
const (
	feedBlock = 1000
	feedRow   = 15
)

// saving estimates the nanoseconds of feeding that one use of one column of a chunk saves. It
// is the same for narrow and for wide columns, because a feed costs rows rather than bytes:
// so narrow columns are worth more per byte.
func saving(l *layout) float64 {
	return float64(l.have.count())*feedBlock + float64(l.total)*feedRow
}

// add counts a use at a time.
func (u *usage) add(now time.Time, halfLife time.Duration) {
	u.weight = u.at(now, halfLife) + 1
	if now.After(u.last) {
		u.last = now
	}
}

// at returns the weight of the uses at a time.
func (u *usage) at(now time.Time, halfLife time.Duration) float64 {
	return u.weight * math.Exp2(-max(0, now.Sub(u.last).Seconds())/halfLife.Seconds())
}

// weight returns how often a column may be used soon, judged by its uses so far. All its
// chunks have that weight, because a scan reads all of them.
func (s *Store) weight(c *column, now time.Time) float64 {
	if c.table.superseded {
		return 0
	}
	return c.uses.at(now, s.options.Interest)
}

// worth returns the benefit of a piece of the directory.
func (s *Store) worth(p *piece, now time.Time) float64 {
	return p.benefit * s.weight(p.heading(), now)
}

func (e *extent) enter(p *piece) {
	c := p.heading()
	e.pieces[p] = struct{}{}
	e.saves[c] += p.benefit
	c.benefit += p.benefit
	c.bytes += p.bytes
}

func (e *extent) remove(p *piece) {
	c := p.heading()
	delete(e.pieces, p)
	e.saves[c] -= p.benefit
	c.benefit -= p.benefit
	c.bytes -= p.bytes
	if len(e.pieces) == 0 {
		clear(e.saves) // and with it what rounding has left
	}
}

// density returns the benefit of an extent per byte. An extent is the unit of eviction: a part
// of one gives no memory back.
func (s *Store) density(e *extent, now time.Time) float64 {
	total := 0.0
	for c, saves := range e.saves {
		total += saves * s.weight(c, now)
	}
	return total / float64(s.arena.size)
}

// coldest returns the extent with the least benefit per byte that no lease uses, if that is
// below a limit; nil if there is none.
func (s *Store) coldest(limit float64, now time.Time) (found *extent) {
	for e := range s.arena.extents {
		if e.pins > 0 {
			continue
		}
		d := s.density(e, now)
		if d < limit || d == limit && found != nil && e.number < found.number {
			found, limit = e, d
		}
	}
	return found
}

// evict takes all pieces of an extent, which no lease uses, out of the directory, and gives
// the extent back.
func (s *Store) evict(e *extent) {
	if e == s.arena.open {
		s.arena.leave()
	}
	for p := range e.pieces {
		s.counters.Evicted += p.bytes
		s.remove(p)
	}
}

// margin is how much less than what is new must be worth what is evicted for it. It keeps
// parts of one table, which are worth the same, from evicting each other.
const margin = 0.8

// makeRoom evicts what is worth less per byte than a density until n more bytes fit.
func (s *Store) makeRoom(of *arena, n int64, density float64, now time.Time) error {
	for s.held()+n > s.limit(of) {
		e := s.coldest(density*margin, now)
		if e == nil {
			return errNoMemory
		}
		s.evict(e)
	}
	return nil
}

// limit returns how much may be held after an allocation. If the limit is worth a few extents,
// one of them is left for the scratch memory of leases.
func (s *Store) limit(of *arena) int64 {
	if of == &s.arena && s.options.Limit >= 8*of.size {
		return s.options.Limit - of.size
	}
	return s.options.Limit
}

// allocate returns a span of n bytes, and makes sure that the directory may grow by a number
// of bytes. It evicts only what is worth less than a density.
func (s *Store) allocate(of *arena, n, directory int64, density float64, now time.Time) (span, error) {
	if err := s.makeRoom(of, directory, density, now); err != nil {
		return span{}, err
	}
	sp, err := of.alloc(n)
	if !errors.Is(err, errNoMemory) {
		return sp, err
	}
	if err := s.makeRoom(of, of.size+directory, density, now); err != nil {
		return span{}, err
	}
	if of.grow() != nil {
		// The daemon has no memory for us: what is worth less gives its own.
		e := s.coldest(density*margin, now)
		if e == nil {
			return span{}, errNoMemory
		}
		s.evict(e)
		if of.grow() != nil {
			return span{}, errNoMemory
		}
	}
	return of.alloc(n)
}

// typicalRows and typicalText estimate, before anything is captured, how many rows a block
// has and how many bytes a value of variable length.
const (
	typicalRows = 60
	typicalText = 20
)

// retries is how often within the time of the interest a table is captured that was refused
// for lack of memory: the participants feed it unfiltered each time.
const retries = 16

// roomFor reports whether there is memory for what a lease would capture: free, or taken by
// what is worth less.
func (s *Store) roomFor(l *Lease) bool {
	if l.request.Policy == Auto && l.request.Now.Sub(l.t.refused) < s.options.Interest/retries {
		return false
	}
	if s.held()+s.arena.size <= s.limit(&s.arena) {
		return true
	}
	saves, bytes := 0.0, 0.0 // of a row
	for _, c := range l.columns {
		column := l.t.columns[c]
		width, saving := column.perRow()
		saves += saving * s.weight(column, l.request.Now)
		bytes += width
	}
	if e := s.arena.open; e != nil && float64(len(e.Data)-e.used) > bytes*typicalRows*float64(min(l.request.Blocks, ChunkBlocks)) {
		return true
	}
	return s.arena.size <= s.limit(&s.arena) && s.coldest(margin*saves/bytes, l.request.Now) != nil
}

// perRow returns the bytes and the benefit of a row of a column: an estimate, of which the
// quotient is that of what is kept of the column, if anything is.
func (c *column) perRow() (bytes, saves float64) {
	saves = feedBlock/typicalRows + feedRow
	switch {
	case c.bytes > 0:
		return saves * float64(c.bytes) / c.benefit, saves
	case c.Physical.Kind == joincore.Varlena:
		return typicalText, saves
	}
	return float64(c.Physical.Width), saves
}

// Shrink gives back at least need bytes of what no lease uses, what has the least benefit per
// byte first, or all of it, and returns the bytes. If that is too little, what has been
// captured and not been copied is dropped soon, because it keeps memory of jobs that have
// ended.
func (s *Store) Shrink(need int64) (freed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for freed < need {
		e := s.coldest(math.Inf(1), s.now)
		if e == nil {
			s.dropPending()
			break
		}
		s.evict(e)
		freed += s.arena.size
	}
	return freed
}

// dropPending drops what is to be copied. Work releases it: its sources may belong to a job
// that holds its own lock while it waits for Shrink.
func (s *Store) dropPending() {
	for _, w := range s.pending {
		s.dropped = append(s.dropped, w.batches...)
	}
	s.pending = nil
	s.wake()
}
