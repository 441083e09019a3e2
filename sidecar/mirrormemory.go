package sidecar

import (
	"context"
	"errors"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/kept"
	"gpujoin/sidecar/memory"
)

// mirrorMemory gives mirrors of foreign servers extents, which workers can read like those of
// jobs. A mirror that gets none is lost, and loads again. So some extents are taken ahead,
// for times in which jobs have reserved everything, and columns that are kept make room.
type mirrorMemory struct {
	srv    *Server
	keeper *memory.Keeper
	most   int // extents that are taken ahead, once there are mirrors
	wanted chan struct{}

	mu    sync.Mutex
	ahead []*memory.Extent
	given chan struct{} // closed when ahead gets one; nil: nobody waits
}

// Extents that are taken ahead: a share of the limit, and no more than this.
const (
	aheadShare  = 16
	aheadExtent = 16
)

func newMirrorMemory(srv *Server) *mirrorMemory {
	most := int(min(srv.options.MirrorMemory/aheadShare/srv.store.ExtentSize(), aheadExtent))
	return &mirrorMemory{srv: srv, keeper: memory.NewKeeper(srv.budget, srv.store, "mirrors"), most: max(most, 1), wanted: make(chan struct{}, 1)}
}

func (m *mirrorMemory) ExtentSize() int64 { return m.srv.store.ExtentSize() }

// extentWait is how long a mirror waits for memory, which delays all tables of its server.
const extentWait = 2 * time.Second

// Extent returns an extent that was taken ahead, or else one that is free, or waits for one.
func (m *mirrorMemory) Extent() (kept.Extent, error) {
	defer m.want()
	over := time.After(extentWait)
	for {
		m.mu.Lock()
		if n := len(m.ahead); n > 0 {
			e := m.ahead[n-1]
			m.ahead = m.ahead[:n-1]
			m.mu.Unlock()
			return kept.Extent{Data: e.Data, Release: e.Release}, nil
		}
		if m.given == nil {
			m.given = make(chan struct{})
		}
		given := m.given
		m.mu.Unlock()
		e, err := m.take()
		if err == nil {
			return kept.Extent{Data: e.Data, Release: e.Release}, nil
		}
		m.want()
		select {
		case <-given:
		case <-m.srv.ctx.Done():
			return kept.Extent{}, err
		case <-over:
			return kept.Extent{}, err
		}
	}
}

// take takes an extent that no job wants. If there is none, kept columns make room.
func (m *mirrorMemory) take() (*memory.Extent, error) {
	e, err := m.keeper.Extent()
	if errors.Is(err, joincore.ErrBudget) && m.srv.kept != nil {
		m.srv.kept.Shrink(m.ExtentSize())
		e, err = m.keeper.Extent()
	}
	return e, err
}

func (m *mirrorMemory) want() {
	select {
	case m.wanted <- struct{}{}:
	default:
	}
}

// refillPause is the time between two attempts to take an extent while there is none.
const refillPause = 20 * time.Millisecond

// work takes extents ahead until ctx is done. The first mirror begins it.
func (m *mirrorMemory) work(ctx context.Context) {
	defer m.end()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wanted:
		}
		for m.lacks() {
			e, err := m.take()
			if err == nil {
				m.add(e)
				continue
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(refillPause):
			}
		}
	}
}

func (m *mirrorMemory) lacks() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ahead) < m.most
}

func (m *mirrorMemory) add(e *memory.Extent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ahead = append(m.ahead, e)
	if m.given != nil {
		close(m.given)
		m.given = nil
	}
}

// end gives back what was taken ahead.
func (m *mirrorMemory) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.ahead {
		e.Release()
	}
	m.ahead = nil
}
