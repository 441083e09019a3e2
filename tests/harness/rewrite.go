package harness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Hostile proxies: frames are changed in transit, dropped, repeated, or are the
// last ones.

// Rewrite has f replace every frame, in both directions, by the frames that it
// returns; false ends the connection after these. f is called for one frame at
// a time and must not call the proxy. nil passes frames unchanged.
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

// Cut ends the connection instead of passing the frame on.
func (h *Hold) Cut() {
	h.once.Do(func() {
		h.cut = true
		close(h.release)
	})
}

// Follow directs new connections to a daemon that has replaced the previous one.
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

// ListenAsSelf makes a proxy socket owned by the user that runs the tests: for
// root, another user than the server's.
func (p *Proxy) ListenAsSelf(path string) (func() error, error) {
	l, err := listen(path)
	if err != nil {
		return nil, err
	}
	closed := func() error { return errors.Join(l.Close(), removeIfThere(path), os.Remove(path+".status")) }
	if err := os.Link(p.Socket+".status", path+".status"); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	// The server must be rejected for the owner, not by the file's mode.
	if err := os.Chmod(path, fs.FileMode(0o666)); err != nil {
		return nil, errors.Join(err, closed())
	}
	p.wg.Add(1)
	go p.accept(l)
	return closed, nil
}

// NewFrame makes a frame that owns fds.
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

// FDs returns the frame's descriptors, which the frame keeps.
func (f *Frame) FDs() []int { return f.fds }

// SetFDs closes the frame's descriptors and replaces them. The number in the
// header is unchanged.
func (f *Frame) SetFDs(fds ...int) {
	f.close()
	f.fds = fds
}

// TakeFDs returns the frame's descriptors, which the caller then owns.
func (f *Frame) TakeFDs() []int {
	fds := f.fds
	f.fds = nil
	return fds
}

// Drop closes the descriptors of a frame that will not be passed on.
func (f *Frame) Drop() { f.close() }
