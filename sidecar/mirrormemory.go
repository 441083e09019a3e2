package sidecar

import (
	"errors"
	"sync"
	"time"

	"gpujoin/joincore"
	"gpujoin/sidecar/kept"
	"gpujoin/sidecar/memory"
)

// mirrorMemory gives mirrors of foreign servers extents, which workers can read like those of
// jobs. A mirror that gets none is lost, and loads again. So some extents are taken ahead, for
// times in which jobs have reserved everything, and columns that are kept make room.
type mirrorMemory struct {
	srv    *Server
	keeper *memory.Keeper
	most   int // extents that are taken ahead, once there are mirrors
	wanted chan struct{}

	mu    sync.Mutex
	ahead []*memory.Extent
}

// Extents that are taken ahead: a share of the limit, and no more than mostAhead.
const (
	aheadShare = 16
	mostAhead  = 16
)

func newMirrorMemory(srv *Server) *mirrorMemory {
	most := int(min(srv.options.MirrorMemory/aheadShare/srv.store.ExtentSize(), mostAhead))
	return &mirrorMemory{srv: srv, keeper: memory.NewKeeper(srv.budget, srv.store, "mirrors"), most: max(most, 1), wanted: make(chan struct{}, 1)}
}

func (m *mirrorMemory) ExtentSize() int64 { return m.srv.store.ExtentSize() }

// A mirror waits for memory for extentWait, which delays all tables of its server. It, and who
// takes extents ahead, tries again after a pause.
const (
	extentWait  = 2 * time.Second
	extentPause = 20 * time.Millisecond
)

// Extent returns an extent that was taken ahead, or else one that no job wants, or waits for one.
func (m *mirrorMemory) Extent() (kept.Extent, error) {
	defer m.want()
	for over := time.Now().Add(extentWait); ; {
		e, err := m.pop(), error(nil)
		if e == nil {
			e, err = m.take()
		}
		if err == nil {
			return kept.Extent{Data: e.Data, Release: e.Release}, nil
		}
		if time.Now().After(over) || !m.pause() {
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

// pop returns an extent that was taken ahead; nil: there is none.
func (m *mirrorMemory) pop() *memory.Extent {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.ahead)
	if n == 0 {
		return nil
	}
	e := m.ahead[n-1]
	m.ahead = m.ahead[:n-1]
	return e
}

// pause waits until another attempt may succeed; false: the daemon ends.
func (m *mirrorMemory) pause() bool {
	select {
	case <-m.srv.ctx.Done():
		return false
	case <-time.After(extentPause):
		return true
	}
}

func (m *mirrorMemory) want() {
	select {
	case m.wanted <- struct{}{}:
	default:
	}
}

// work takes extents ahead, from the first mirror on, until the daemon ends.
func (m *mirrorMemory) work() {
	defer m.end()
	for {
		select {
		case <-m.srv.ctx.Done():
			return
		case <-m.wanted:
		}
		for m.lacks() {
			if e, err := m.keeper.Extent(); err == nil {
				m.mu.Lock()
				m.ahead = append(m.ahead, e)
				m.mu.Unlock()
			} else if !m.pause() {
				return
			}
		}
	}
}

func (m *mirrorMemory) lacks() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ahead) < m.most
}

// end gives back what was taken ahead.
func (m *mirrorMemory) end() {
	for e := m.pop(); e != nil; e = m.pop() {
		e.Release()
	}
}
