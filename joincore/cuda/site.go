//go:build cuda

package cuda

import (
	"context"
	"errors"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
)

// site is the memory and the streams of one execution, used again by the next.
type site struct {
	bytes   int64
	arena   *driver.Arena // the stack; what lanes have is cut off already
	main    *rowid.Queue  // all steps, in order
	load    *lane         // imports
	back    *lane         // what goes to the host to come again; made when it is used
	gather  []*lane       // results
	streams []*driver.Stream
	events  []*driver.Event // that no execution has
	desk    *driver.Host    // what divisions say and are told goes through it
	heap    heap
}

// lane is a stream with buffers that transfers go through.
type lane struct {
	queue  *rowid.Queue
	stream *driver.Stream
	device *driver.Arena    // scratch
	bytes  int64            // of it
	host   *driver.Host     // as large as the scratch
	half   [2]*driver.Event // when a half of host has been copied
	turn   int
	second *driver.Stream    // of the lane that loads
	turns  [2]*driver.Stream // by which its copies go: the next is that of the first
}

// empty makes all of the scratch free.
func (l *lane) empty() {
	l.device.Rewind(0)
	l.device.Extend(l.bytes - l.device.Size())
}

// laneBytes is the scratch of a lane: a fraction of small sites.
func laneBytes(site int64) int64 {
	return min(max(site/128, 64<<10), 16<<20) / driver.Line * driver.Line
}

// newSite divides the next bytes of the arena. The lanes that gather are made
// when they are first used, in memory that is set aside for them here.
func (p *Provider) newSite(bytes int64) (*site, error) {
	s, mark := &site{bytes: bytes}, p.arena.Mark()
	if err := s.open(p); err != nil {
		p.arena.Rewind(mark)
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *site) open(p *Provider) (err error) {
	if s.arena, err = p.arena.Part(s.bytes); err != nil {
		return err
	}
	s.heap = heap{
		cut: func(n int64) (int64, error) {
			at, err := s.arena.Cut(n)
			return int64(at), err
		},
		extend: s.arena.Extend,
	}
	stream, err := s.newStream(p.context)
	if err != nil {
		return err
	}
	if s.load, err = s.newLane(); err != nil {
		return err
	}
	if err = s.equip(p, s.load); err != nil {
		return err
	}
	if s.load.second, err = s.newStream(p.context); err != nil {
		return err
	}
	s.load.turns = [2]*driver.Stream{s.load.stream, s.load.stream}
	if s.back, err = s.newLane(); err != nil {
		return err
	}
	for range p.streams {
		l, err := s.newLane()
		if err != nil {
			return err
		}
		s.gather = append(s.gather, l)
	}
	s.main, err = p.general.NewQueue(stream, s.arena)
	return err
}

// newLane cuts the scratch of a lane off the site.
func (s *site) newLane() (*lane, error) {
	n := laneBytes(s.bytes)
	at, err := s.arena.Cut(n)
	if err != nil {
		return nil, err
	}
	return &lane{device: s.arena.Over(at, n), bytes: n}, nil
}

func (s *site) newStream(c *driver.Context) (*driver.Stream, error) {
	st, err := c.NewStream()
	if err == nil {
		s.streams = append(s.streams, st)
	}
	return st, err
}

// event returns an event: one that an execution before has left, if there is one.
func (s *site) event(c *driver.Context) (*driver.Event, error) {
	n := len(s.events)
	if n == 0 {
		return c.NewEvent(false)
	}
	event := s.events[n-1]
	s.events = s.events[:n-1]
	return event, nil
}

// leastDesk is more than most divisions want.
const leastDesk = 64 << 10

// deskOf returns the desk, of so many bytes at least. Nothing reads or writes it.
func (s *site) deskOf(c *driver.Context, bytes int64) (*driver.Host, error) {
	if s.desk != nil && s.desk.Size() >= bytes {
		return s.desk, nil
	}
	if small := s.desk; small != nil {
		s.desk = nil
		if err := small.Free(); err != nil {
			return nil, err
		}
	}
	var err error
	s.desk, err = c.Pinned(max(bytes, leastDesk))
	return s.desk, err
}

// equip makes what a lane lacks beside its scratch.
func (s *site) equip(p *Provider, l *lane) (err error) {
	if l.stream == nil {
		if l.stream, err = s.newStream(p.context); err != nil {
			return err
		}
	}
	for i := range l.half {
		if l.half[i] == nil {
			if l.half[i], err = p.context.NewEvent(false); err != nil {
				return err
			}
		}
	}
	if l.host == nil {
		if l.host, err = p.context.Pinned(l.bytes); err != nil {
			return err
		}
	}
	l.queue, err = p.general.NewQueue(l.stream, l.device)
	return err
}

// reset waits for all that is under way and takes all memory back.
func (s *site) reset() error {
	var errs []error
	for _, st := range s.streams {
		errs = append(errs, st.Sync(context.Background()))
	}
	for _, l := range s.gather {
		l.empty()
	}
	s.heap.reset()
	s.arena.Rewind(0)
	s.arena.ResetPeak()
	return errors.Join(errs...)
}

// close frees what is not memory of the arena.
func (s *site) close() error {
	var errs []error
	if s.main != nil {
		errs = append(errs, s.main.Close())
	}
	for _, l := range append([]*lane{s.load, s.back}, s.gather...) {
		if l == nil {
			continue
		}
		if l.queue != nil {
			errs = append(errs, l.queue.Close())
		}
		if l.host != nil {
			errs = append(errs, l.host.Free())
		}
		for _, e := range l.half {
			if e != nil {
				errs = append(errs, e.Close())
			}
		}
	}
	for _, e := range s.events {
		errs = append(errs, e.Close())
	}
	if s.desk != nil {
		errs = append(errs, s.desk.Free())
	}
	for _, st := range s.streams {
		errs = append(errs, st.Close())
	}
	return errors.Join(errs...)
}
