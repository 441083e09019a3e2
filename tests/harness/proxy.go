package harness

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Proxy passes frames with their descriptors between backends and the daemon,
// and can hold one back, which stops a join at a chosen point. It runs as the
// same user, so that each side accepts it as its peer.
type Proxy struct {
	Socket string

	account  Account
	daemon   string
	listener *net.UnixListener

	mu      sync.Mutex
	rule    *Hold
	frozen  *Hold                         // holds the frames of all connections
	rewrite func(*Frame) ([]*Frame, bool) // rewrite.go
	conns   map[*proxied]struct{}
	wg      sync.WaitGroup
}

// Hold is a frame to be held back.
type Hold struct {
	// Reached is closed when the frame has arrived and is held.
	Reached chan struct{}

	typ, nth int
	all      bool // while it is held, hold all other frames, too
	seen     int
	release  chan struct{}
	cut      bool // set before release is closed
	once     sync.Once
}

// Release passes the frame on.
func (h *Hold) Release() { h.once.Do(func() { close(h.release) }) }

func (h *Hold) released() bool {
	select {
	case <-h.release:
		return true
	default:
		return false
	}
}

// proxied is one connection with its two sockets.
type proxied struct {
	backend, daemon *net.UnixConn
	gone            chan struct{}
	once            sync.Once
}

func (p *proxied) close() {
	p.once.Do(func() {
		close(p.gone)
		_ = p.backend.Close() // both are closed in any case
		_ = p.daemon.Close()
	})
}

// cut ends a connection for the backend first, as a daemon that dies does. The daemon
// takes a closed socket for a process that maps no extent any more and reuses the memory,
// so it learns of the end when the backend has closed its side, or after some time.
// reader: the caller is the one that reads from the backend.
func (p *proxied) cut(reader bool) {
	const patience = 2 * time.Second
	_ = p.backend.CloseWrite() // the connection may have ended already
	if !reader {
		select {
		case <-p.gone:
		case <-time.After(patience):
		}
		return
	}
	if p.backend.SetReadDeadline(time.Now().Add(patience)) != nil {
		return
	}
	for {
		f, err := readFrame(p.backend)
		if err != nil {
			return
		}
		f.close()
	}
}

// StartProxy starts a proxy for the daemon, with a socket of its own.
func (c *Cluster) StartProxy(name string, d *Daemon) (*Proxy, error) {
	p := &Proxy{
		Socket: c.Sock + "/" + name, account: c.Env.Account, daemon: d.Socket,
		conns: map[*proxied]struct{}{},
	}
	err := p.account.asAccount(func() error {
		// Backends check the daemon's own locked file for its liveness.
		if err := os.Link(d.Socket+".status", p.Socket+".status"); err != nil {
			return err
		}
		var err error
		p.listener, err = listen(p.Socket)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p.wg.Add(1)
	go p.accept(p.listener)
	return p, nil
}

// listen makes a socket owned by the calling thread's user.
func listen(path string) (*net.UnixListener, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, err
	}
	if err := unix.Listen(fd, 128); err != nil {
		return nil, err
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	return l.(*net.UnixListener), nil
}

func (p *Proxy) accept(l *net.UnixListener) {
	defer p.wg.Done()
	for {
		backend, err := l.AcceptUnix()
		if err != nil {
			return // closed
		}
		daemon, err := p.dial()
		if err != nil {
			_ = backend.Close() // as if the daemon were dead
			continue
		}
		c := &proxied{backend: backend, daemon: daemon, gone: make(chan struct{})}
		p.mu.Lock()
		p.conns[c] = struct{}{}
		p.mu.Unlock()
		p.wg.Add(2)
		go p.pass(c, backend, daemon)
		go p.pass(c, daemon, backend)
	}
}

func (p *Proxy) dial() (*net.UnixConn, error) {
	p.mu.Lock()
	daemon := p.daemon
	p.mu.Unlock()
	var c net.Conn
	err := p.account.asAccount(func() error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), daemon)
		defer f.Close()
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: daemon}); err != nil {
			return err
		}
		c, err = net.FileConn(f)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

// pass moves frames in one direction until either side is closed.
func (p *Proxy) pass(c *proxied, from, to *net.UnixConn) {
	defer p.wg.Done()
	defer func() {
		c.close()
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	}()
	for {
		f, err := readFrame(from)
		if err != nil {
			return
		}
		if h := p.match(f); h != nil {
			// While a frame is held, the end of the other side must still be noticed.
			select {
			case <-h.release:
			case <-c.gone:
				f.close()
				return
			}
			if h.cut {
				f.close()
				c.cut(from == c.backend)
				return
			}
		}
		frames, goesOn := p.rewritten(f)
		for _, f := range frames {
			// After a failure it only closes the remaining frames.
			goesOn = f.write(to) == nil && goesOn
		}
		if !goesOn {
			return
		}
	}
}

// HoldFrame arranges that the nth frame of a type from now on, counted over all
// connections, is held.
func (p *Proxy) HoldFrame(typ, nth int) *Hold { return p.hold(typ, nth, false) }

// HoldAll is HoldFrame, and also holds all later frames of all connections
// until that one is released.
func (p *Proxy) HoldAll(typ, nth int) *Hold { return p.hold(typ, nth, true) }

func (p *Proxy) hold(typ, nth int, all bool) *Hold {
	h := &Hold{Reached: make(chan struct{}), release: make(chan struct{}), typ: typ, nth: nth, all: all}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = h
	return h
}

// match returns the Hold for the frame, or nil.
func (p *Proxy) match(f *Frame) *Hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil && !p.frozen.released() {
		return p.frozen
	}
	p.frozen = nil
	h := p.rule
	if h == nil || f.Type != h.typ {
		return nil
	}
	if h.seen++; h.seen != h.nth {
		return nil
	}
	p.rule = nil
	if h.all {
		p.frozen = h
	}
	close(h.Reached)
	return h
}

// Connections returns the number of open connections of backends.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// Close ends all connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	if p.rule != nil {
		p.rule.Release()
	}
	for c := range p.conns {
		c.close()
	}
	p.mu.Unlock()
	p.wg.Wait()
	return errors.Join(err, os.Remove(p.Socket+".status"), removeIfThere(p.Socket))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
