package child

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"gpujoin/shm"
	"gpujoin/sidecar/worker/control"

	"golang.org/x/sys/unix"
)

// Registrar is implemented by providers whose devices copy faster from
// registered (pinned) memory. Register is called once for each extent.
type Registrar interface {
	// Register registers mem. The caller must call release before it unmaps
	// mem.
	Register(mem []byte) (release func(), err error)
}

// registrar is the Registrar of one device.
type registrar struct {
	Registrar
	refused error // error of a failed registration; no further ones are tried
}

// pool holds the extents that the daemon has passed.
type pool struct {
	log        *slog.Logger
	registrars []*registrar // one per device, nil if the device needs none

	mu       sync.Mutex
	extents  map[uint64]*extent
	arrival  chan struct{} // closed and replaced when extents arrive
	backlog  []*extent     // to be registered
	registry bool          // a goroutine is registering extents
}

// extent is one mapping. It is unmapped when the daemon has dropped it and its
// last user here has released it.
type extent struct {
	id       uint64
	data     []byte
	release  []func() // of registrations
	users    int      // runs, and the registering goroutine
	dropped  bool
	unmapped bool
}

func newPool(registrars []*registrar, log *slog.Logger) *pool {
	return &pool{log: log, registrars: registrars, extents: map[uint64]*extent{}, arrival: make(chan struct{})}
}

// receive takes extents until the daemon is gone: io.EOF.
func (p *pool) receive(r *control.Receiver) error {
	defer r.Close()
	for {
		m, err := r.Next()
		if err != nil {
			return err
		}
		if m.Kind == control.Drop {
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

// give maps extents and closes their descriptors; the mappings stay valid. If it
// fails, it keeps none of the message's extents.
func (p *pool) give(m *control.Message) error {
	list, err := mapExtents(m)
	if err == nil {
		err = p.add(list)
	}
	if err != nil {
		for _, e := range list {
			p.free(e)
		}
	}
	return err
}

// mapExtents maps the extents of a message and closes their descriptors. If it
// fails, it also returns the extents that it has mapped.
func mapExtents(m *control.Message) (list []*extent, err error) {
	defer shm.CloseFDs(m.FDs)
	for i, id := range m.Extents {
		if err := shm.VerifyMemfd(m.FDs[i], m.Size); err != nil {
			return list, fmt.Errorf("extent %d: %w", id, err)
		}
		data, err := shm.MapAligned(m.FDs[i], m.Size)
		if err != nil {
			return list, fmt.Errorf("extent %d: %w", id, err)
		}
		list = append(list, &extent{id: id, data: data})
	}
	return list, nil
}

// add adds all extents of a list to the pool, or none.
func (p *pool) add(list []*extent) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, e := range list {
		twice := slices.ContainsFunc(list[:i], func(other *extent) bool { return other.id == e.id })
		if twice || p.extents[e.id] != nil {
			return fmt.Errorf("%w: extent %d is given twice", control.ErrMessage, e.id)
		}
	}
	for _, e := range list {
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

// register registers the backlog while joins run. A join that uses an extent
// before it is registered makes staged copies.
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
				p.log.Warn("could not register extents; their copies are staged", "error", err)
				continue
			}
			release = append(release, undo)
		}
		e.release = release
		if p.leave(e) {
			p.mu.Unlock()
			p.free(e)
			p.mu.Lock()
		}
	}
	p.registry = false
}

// willing reports whether extents should be registered with the device. The
// caller holds the pool's lock.
func (r *registrar) willing() bool { return r != nil && r.refused == nil }

// refusal returns why extents are not registered with a device, or nil if they
// are or the device needs no registration.
func (p *pool) refusal(device int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.registrars[device]; r != nil {
		return r.refused
	}
	return nil
}

// drop removes an extent once it has no users.
func (p *pool) drop(id uint64) {
	p.mu.Lock()
	e := p.extents[id]
	if e == nil {
		p.mu.Unlock()
		return
	}
	delete(p.extents, id)
	e.dropped = true
	e.users++
	last := p.leave(e)
	p.mu.Unlock()
	if last {
		p.free(e)
	}
}

// leave removes a user of e, and reports whether the caller must free e, because it was the
// last one. The caller holds p's lock.
func (p *pool) leave(e *extent) (last bool) {
	e.users--
	if e.users > 0 || !e.dropped || e.unmapped {
		return false
	}
	e.unmapped = true
	return true
}

// free unmaps an extent without users. The caller does not hold p's lock: a driver may let it
// wait for kernels, and the daemon kills a worker that does not report its status meanwhile.
func (p *pool) free(e *extent) {
	for _, release := range e.release {
		release()
	}
	if err := shm.Unmap(e.data); err != nil {
		p.log.Error("could not unmap an extent", "extent", e.id, "error", err)
	}
}

// extentTimeout is how long an extent that a plan names may take to arrive. The
// daemon sends it before the plan or at the same time.
const extentTimeout = time.Minute

// nowhere is the extent number of rows without columns.
const nowhere = 0

// use returns an extent, waiting for it to arrive. The caller must release it
// with done.
func (p *pool) use(ctx context.Context, id uint64) (*extent, error) {
	if id == nowhere {
		return &extent{}, nil
	}
	var late <-chan time.Time
	for {
		p.mu.Lock()
		e, arrival := p.extents[id], p.arrival
		if e != nil {
			e.users++
			p.mu.Unlock()
			return e, nil
		}
		p.mu.Unlock()
		if late == nil {
			late = time.After(extentTimeout)
		}
		select {
		case <-arrival:
		case <-late:
			return nil, fmt.Errorf("%w: extent %d did not arrive within %v", control.ErrMalformed, id, extentTimeout)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (p *pool) done(list ...*extent) {
	p.mu.Lock()
	var last []*extent
	for _, e := range list {
		if p.leave(e) {
			last = append(last, e)
		}
	}
	p.mu.Unlock()
	for _, e := range last {
		p.free(e)
	}
}

// pageSize is the granularity of mappings.
var pageSize = int64(unix.Getpagesize())
