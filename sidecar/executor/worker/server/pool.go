package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"gpujoin/shm"
	"gpujoin/sidecar/executor/worker/fds"
	"gpujoin/sidecar/executor/worker/wire"

	"golang.org/x/sys/unix"
)

// Registrar is what a provider implements whose devices copy faster from
// memory that they know: it is told of every extent once.
type Registrar interface {
	// Register makes mem known until release.
	Register(mem []byte) (release func(), err error)
}

// registrar is one of them, while it registers.
type registrar struct {
	Registrar
	refused error // a registration was, so that none is tried any more
}

// pool is the extents that the daemon has given.
type pool struct {
	log        *slog.Logger
	registrars []*registrar // of each device, nil where it wants none

	mu       sync.Mutex
	extents  map[uint64]*extent
	arrival  chan struct{} // closed, and another one made, when extents arrive
	backlog  []*extent     // to be registered
	registry bool          // somebody registers
}

// extent is one mapping. It ends when the daemon has dropped it and nobody
// here uses it any more.
type extent struct {
	id       uint64
	data     []byte
	mapping  []byte
	release  []func() // of registrations
	users    int      // runs, and the one that registers
	dropped  bool
	unmapped bool
}

func newPool(registrars []*registrar, log *slog.Logger) *pool {
	return &pool{log: log, registrars: registrars, extents: map[uint64]*extent{}, arrival: make(chan struct{})}
}

// receive takes extents until the daemon is gone: io.EOF.
func (p *pool) receive(r *fds.Receiver) error {
	defer r.Close()
	for {
		m, err := r.Next()
		if err != nil {
			return err
		}
		if m.Kind == fds.Drop {
			for _, id := range m.Extents {
				p.drop(id)
			}
			continue
		}
		if err := p.give(m); err != nil {
			return err
		}
	}
}

// give maps extents and closes their descriptors: the mapping keeps them.
func (p *pool) give(m *fds.Message) error {
	defer shm.CloseFDs(m.FDs)
	var list []*extent
	for i, id := range m.Extents {
		if err := shm.VerifyMemfd(m.FDs[i], m.Size); err != nil {
			return fmt.Errorf("extent %d: %w", id, err)
		}
		data, mapping, err := shm.MapAligned(m.FDs[i], m.Size)
		if err != nil {
			return fmt.Errorf("extent %d: %w", id, err)
		}
		list = append(list, &extent{id: id, data: data, mapping: mapping})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range list {
		if p.extents[e.id] != nil {
			return fmt.Errorf("%w: extent %d is given twice", fds.ErrMessage, e.id)
		}
		p.extents[e.id] = e
	}
	close(p.arrival)
	p.arrival = make(chan struct{})
	if slices.ContainsFunc(p.registrars, (*registrar).willing) {
		for _, e := range list {
			e.users++
		}
		p.backlog = append(p.backlog, list...)
		if !p.registry {
			p.registry = true
			go p.register()
		}
	}
	return nil
}

// register works the backlog off, beside the joins: those that come first copy
// in steps.
func (p *pool) register() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.backlog) > 0 {
		e := p.backlog[0]
		p.backlog = p.backlog[1:]
		var release []func()
		for _, r := range p.registrars {
			if e.dropped || !r.willing() {
				continue
			}
			p.mu.Unlock()
			undo, err := r.Register(e.data)
			p.mu.Lock()
			if err != nil {
				r.refused = err
				p.log.Warn("extents cannot be registered, so copies of them are staged", "error", err)
				continue
			}
			release = append(release, undo)
		}
		e.release = release
		p.leave(e)
	}
	p.registry = false
}

// willing says whether there is a device that extents are registered with. The
// caller has locked the pool.
func (r *registrar) willing() bool { return r != nil && r.refused == nil }

// refusal returns why extents are not registered with a device, nil where they
// are or where it wants none.
func (p *pool) refusal(device int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.registrars[device]; r != nil {
		return r.refused
	}
	return nil
}

// drop ends an extent as soon as nobody uses it.
func (p *pool) drop(id uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.extents[id]
	if e == nil {
		return
	}
	delete(p.extents, id)
	e.dropped = true
	e.users++
	p.leave(e)
}

// leave takes a user of e away. The caller has locked p.
func (p *pool) leave(e *extent) {
	e.users--
	if e.users > 0 || !e.dropped || e.unmapped {
		return
	}
	e.unmapped = true
	for _, release := range e.release {
		release()
	}
	if err := shm.Unmap(e.mapping); err != nil {
		p.log.Error("an extent could not be unmapped", "extent", e.id, "error", err)
	}
}

// patience is how long an extent may take to arrive that a plan names. The
// daemon sends it before or beside the plan.
const patience = time.Minute

// nowhere is the extent of rows without columns.
const nowhere = 0

// use returns an extent, waiting for it to arrive, to be given back by done.
func (p *pool) use(ctx context.Context, id uint64) (*extent, error) {
	if id == nowhere {
		return &extent{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		p.mu.Lock()
		e, arrival := p.extents[id], p.arrival
		if e != nil {
			e.users++
			p.mu.Unlock()
			return e, nil
		}
		p.mu.Unlock()
		select {
		case <-arrival:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: extent %d was not handed over: %w", wire.ErrMalformed, id, ctx.Err())
		}
	}
}

func (p *pool) done(list ...*extent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range list {
		p.leave(e)
	}
}

// pageSize is the granularity of mappings.
var pageSize = int64(unix.Getpagesize())
