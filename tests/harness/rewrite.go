package harness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// What makes a proxy hostile: frames that are changed on their way, dropped,
// repeated, or never followed by another one.

// Rewrite lets f replace every frame, whichever way it goes, by what it
// returns; false ends the connection after that. f is called for one frame at
// a time and must not call the proxy. nil passes frames as they are.
func (p *Proxy) Rewrite(f func(*Frame) ([]*Frame, bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rewrite = f
}

func (p *Proxy) rewritten(f *Frame) ([]*Frame, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rewrite == nil {
		return []*Frame{f}, true
	}
	return p.rewrite(f)
}

// Cut ends the connection in place of letting the frame go on.
func (h *Hold) Cut() {
	h.once.Do(func() {
		h.cut = true
		close(h.release)
	})
}

// Follow leads new connections to a daemon that has taken another one's place.
func (p *Proxy) Follow(d *Daemon) error {
	p.mu.Lock()
	p.daemon = d.Socket
	p.mu.Unlock()
	return p.account.asAccount(func() error {
		if err := removeIfThere(p.Socket + ".status"); err != nil {
			return err
		}
		return os.Link(d.Socket+".status", p.Socket+".status")
	})
}

// ListenAsSelf makes a socket of the proxy's that belongs to whoever runs the
// tests: under root, to another user than the server's.
func (p *Proxy) ListenAsSelf(path string) (func() error, error) {
	l, err := listen(path)
	if err != nil {
		return nil, err
	}
	closed := func() error { return errors.Join(l.Close(), removeIfThere(path), os.Remove(path+".status")) }
	if err := os.Link(p.Socket+".status", path+".status"); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	// Its mode must not be what keeps the server out.
	if err := os.Chmod(path, fs.FileMode(0o666)); err != nil {
		return nil, errors.Join(err, closed())
	}
	p.wg.Add(1)
	go p.accept(l)
	return closed, nil
}

// NewFrame makes a frame with copies of no descriptors: it owns fds.
func NewFrame(typ int, body []byte, fds ...int) *Frame {
	f := &Frame{Type: typ, Bytes: make([]byte, headerSize, headerSize+len(body)), fds: fds}
	binary.LittleEndian.PutUint32(f.Bytes, 0x31464a47)
	binary.LittleEndian.PutUint32(f.Bytes[4:], uint32(len(body)))
	binary.LittleEndian.PutUint16(f.Bytes[8:], uint16(typ))
	binary.LittleEndian.PutUint16(f.Bytes[10:], uint16(len(fds)))
	f.Bytes = append(f.Bytes, body...)
	return f
}

// Clone returns an equal frame with descriptors of its own.
func (f *Frame) Clone() (*Frame, error) {
	c := &Frame{Type: f.Type, Bytes: append([]byte(nil), f.Bytes...)}
	for _, fd := range f.fds {
		d, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			c.close()
			return nil, fmt.Errorf("copying a descriptor: %w", err)
		}
		c.fds = append(c.fds, d)
	}
	return c, nil
}

// FDs are the frame's descriptors; they stay the frame's.
func (f *Frame) FDs() []int { return f.fds }

// SetFDs closes the frame's descriptors and gives it others. What the header
// says of their number stays.
func (f *Frame) SetFDs(fds ...int) {
	f.close()
	f.fds = fds
}

// TakeFDs are the frame's descriptors, which become the caller's.
func (f *Frame) TakeFDs() []int {
	fds := f.fds
	f.fds = nil
	return fds
}

// Drop closes the descriptors of a frame that will not be passed on.
func (f *Frame) Drop() { f.close() }
