package harness

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Proxy stands between backends and the daemon, passes frames with their
// descriptors on, and can hold one back: that stops a join at a chosen point
// of its life. Both sides take it for the other, since it runs for them as the
// same user.
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

// Hold is one frame to be held back.
type Hold struct {
	// Reached is closed when the frame has arrived and is being held.
	Reached chan struct{}

	typ, nth int
	all      bool // while it is held no frame passes at all
	seen     int
	release  chan struct{}
	cut      bool // set before release is closed
	once     sync.Once
}

// Release lets the frame go on.
func (h *Hold) Release() { h.once.Do(func() { close(h.release) }) }

func (h *Hold) released() bool {
	select {
	case <-h.release:
		return true
	default:
		return false
	}
}

// proxied is one connection: its two halves.
type proxied struct {
	backend, daemon *net.UnixConn
	gone            chan struct{}
	once            sync.Once
}

func (p *proxied) close() {
	p.once.Do(func() {
		close(p.gone)
		_ = p.backend.Close() // both are gone either way
		_ = p.daemon.Close()
	})
}

// StartProxy puts a proxy with a socket of its own before the daemon.
func (c *Cluster) StartProxy(name string, d *Daemon) (*Proxy, error) {
	p := &Proxy{
		Socket: c.Sock + "/" + name, account: c.Env.Account, daemon: d.Socket,
		conns: map[*proxied]struct{}{},
	}
	err := p.account.asAccount(func() error {
		// Liveness is judged by the daemon's own locked file.
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

// listen makes a socket of the calling thread's user.
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
			_ = backend.Close() // what a backend sees of a dead daemon
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

// pass moves frames one way until either side is gone.
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
			// While a frame is held, the other side's end must still be seen.
			select {
			case <-h.release:
			case <-c.gone:
				f.close()
				return
			}
			if h.cut {
				f.close()
				return
			}
		}
		frames, goesOn := p.rewritten(f)
		for _, f := range frames {
			// After a failure the rest is only closed.
			goesOn = f.write(to) == nil && goesOn
		}
		if !goesOn {
			return
		}
	}
}

// HoldFrame arranges for the nth frame of a type from now on, counted over all
// connections, to be held.
func (p *Proxy) HoldFrame(typ, nth int) *Hold { return p.hold(typ, nth, false) }

// HoldAll is HoldFrame, and whatever comes after that frame, on any connection,
// is held with it: nobody gets on without it.
func (p *Proxy) HoldAll(typ, nth int) *Hold { return p.hold(typ, nth, true) }

func (p *Proxy) hold(typ, nth int, all bool) *Hold {
	h := &Hold{Reached: make(chan struct{}), release: make(chan struct{}), typ: typ, nth: nth, all: all}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = h
	return h
}

// match returns what holds the frame, if anything does.
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

// Connections is the number of backends' connections that are open.
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
