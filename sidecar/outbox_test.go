package sidecar

import (
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gpujoin/shm"
	"gpujoin/sidecar/memory"

	"golang.org/x/sys/unix"
)

// pipe is an outbox, its peer, and an extent to send.
type pipe struct {
	out    *outbox
	peer   *shm.Conn
	extent *memory.Extent
}

// newPipe returns an outbox that writes through what wrap returns. At the end
// of the test it must not hold the extent any more.
func newPipe(t *testing.T, wrap func(frameWriter) frameWriter) *pipe {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	near, far := connOf(t, fds[0], true), connOf(t, fds[1], false)
	store, err := memory.NewStore(1<<20, 4<<20, 4)
	must(t, err)
	budget := memory.NewBudget(4 << 20)
	account, err := budget.Reserve(t.Context(), store, 1<<20, memory.Claim{}, 0)
	must(t, err)
	extent, err := account.Extent(false)
	must(t, err)
	var w frameWriter = near
	if wrap != nil {
		w = wrap(near)
	}
	p := &pipe{out: newOutbox(w, slog.New(slog.DiscardHandler), nil, 1), peer: far, extent: extent}
	t.Cleanup(func() {
		p.out.close()
		near.Close()
		far.Close()
		extent.Release()
		if used := account.Used(); used != 0 {
			t.Errorf("%d bytes of extents are still held", used)
		}
		account.Close()
		store.Close()
	})
	return p
}

func connOf(t *testing.T, fd int, daemon bool) *shm.Conn {
	t.Helper()
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	sock, err := net.FileConn(f)
	must(t, err)
	c, err := shm.NewConn(sock.(*net.UnixConn), daemon)
	must(t, err)
	return c
}

// grant sends a frame with a number and n descriptors.
func (p *pipe) grant(number uint64, n int) {
	g := shm.Grant{Count: uint32(n)}
	g.Extents[0] = number
	list := make([]*memory.Extent, n)
	for i := range list {
		list[i] = p.extent
	}
	p.out.send(shm.AppendFrame(nil, shm.MsgGrant, n, &g), list...)
}

// receive reads a frame and returns its number and how many descriptors came
// with it.
func (p *pipe) receive() (number uint64, n int, err error) {
	if err := p.peer.Sock().SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return 0, 0, err
	}
	_, body, fds, err := p.peer.Read()
	shm.CloseFDs(fds)
	if err != nil {
		return 0, 0, err
	}
	g, err := shm.Decode[shm.Grant](body)
	return g.Extents[0], len(fds), err
}

func (p *pipe) waiting() (frames, unread int) {
	p.out.mu.Lock()
	defer p.out.mu.Unlock()
	return len(p.out.queue), p.out.unread
}

// TestOutboxKeepsOrder: frames arrive in the order of their sending, with their
// descriptors, whether the socket takes them at once or not, and whether they were held.
func TestOutboxKeepsOrder(t *testing.T) {
	p := newPipe(t, nil)
	const frames = 1500
	go func() {
		for i := range uint64(frames) {
			switch i % 10 {
			case 2:
				p.out.hold()
			case 7:
				p.out.release()
			}
			p.grant(i, int(i%(shm.FrameMaxFDs+1)))
			if i%100 == 99 {
				p.out.throttle()
			}
		}
	}()
	for i := range uint64(frames) {
		number, n, err := p.receive()
		must(t, err)
		if number != i || n != int(i%(shm.FrameMaxFDs+1)) {
			t.Fatalf("frame %d with %d descriptors where %d was next", number, n, i)
		}
	}
}

// counting counts writes.
type counting struct {
	frameWriter
	writes atomic.Int32
}

func (c *counting) Write(b []byte, fds []int) error {
	c.writes.Add(1)
	return c.frameWriter.Write(b, fds)
}

func (c *counting) WriteNow(b []byte, fds []int) (int, error) {
	c.writes.Add(1)
	return c.frameWriter.WriteNow(b, fds)
}

// TestOutboxWritesTogether: frames that are held leave in as few writes as their descriptors
// permit, and none of them before release.
func TestOutboxWritesTogether(t *testing.T) {
	c := &counting{}
	p := newPipe(t, func(w frameWriter) frameWriter { c.frameWriter = w; return c })
	p.out.hold()
	for i, descriptors := range []int{0, 0, 2, 0, 1, 0} {
		p.grant(uint64(i), descriptors)
	}
	if queued, _ := p.waiting(); queued != 6 || c.writes.Load() != 0 {
		t.Fatalf("%d frames wait after %d writes", queued, c.writes.Load())
	}
	p.out.release()
	for i, descriptors := range []int{0, 0, 2, 0, 1, 0} {
		if number, n, err := p.receive(); err != nil || number != uint64(i) || n != descriptors {
			t.Fatalf("frame %d with %d descriptors where %d was next: %v", number, n, i, err)
		}
	}
	if queued, _ := p.waiting(); queued != 0 || c.writes.Load() != 3 {
		t.Errorf("%d frames wait after %d writes", queued, c.writes.Load())
	}
}

// TestOutboxEndsWhileHeld: an outbox that ends while frames are held sends none of them.
func TestOutboxEndsWhileHeld(t *testing.T) {
	p := newPipe(t, nil)
	p.out.hold()
	p.grant(1, 1)
	p.grant(2, 0)
	p.out.stop()
	p.out.release()
	if queued, _ := p.waiting(); queued != 0 {
		t.Errorf("%d frames wait", queued)
	}
	if _, _, err := p.receive(); err == nil {
		t.Error("a frame was sent")
	}
}

// TestOutboxBoundsDescriptors: a peer that reads nothing has few descriptors on
// their way to it, and gets all of them once it reads.
func TestOutboxBoundsDescriptors(t *testing.T) {
	p := newPipe(t, nil)
	const frames = 100
	for i := range uint64(frames) {
		p.grant(i, shm.FrameMaxFDs)
	}
	p.grant(frames, 0)
	if queued, unread := p.waiting(); unread != maxUnread || queued != frames+1-maxUnread/shm.FrameMaxFDs {
		t.Fatalf("%d frames wait, %d descriptors are on their way", queued, unread)
	}
	for i := range uint64(frames + 1) {
		if number, _, err := p.receive(); err != nil || number != i {
			t.Fatalf("frame %d where %d was next: %v", number, i, err)
		}
	}
}

// crowded is a kernel that passes no descriptors while it is full.
type crowded struct {
	frameWriter
	full    atomic.Bool
	refused chan struct{}
}

func (c *crowded) refuse(fds []int) error {
	if len(fds) == 0 || !c.full.Load() {
		return nil
	}
	select {
	case c.refused <- struct{}{}:
	default:
	}
	return unix.ETOOMANYREFS
}

func (c *crowded) Write(b []byte, fds []int) error {
	if err := c.refuse(fds); err != nil {
		return err
	}
	return c.frameWriter.Write(b, fds)
}

func (c *crowded) WriteNow(b []byte, fds []int) (int, error) {
	if err := c.refuse(fds); err != nil {
		return 0, err
	}
	return c.frameWriter.WriteNow(b, fds)
}

// TestOutboxWaitsForTheKernel: descriptors that the kernel refuses are offered
// again, and after a while the peer learns that it does not get them.
func TestOutboxWaitsForTheKernel(t *testing.T) {
	c := &crowded{refused: make(chan struct{})}
	p := newPipe(t, func(w frameWriter) frameWriter { c.frameWriter = w; return c })
	c.full.Store(true)
	p.grant(1, 1)
	p.grant(2, 0)
	<-c.refused
	c.full.Store(false)
	for want := uint64(1); want <= 2; want++ {
		if number, _, err := p.receive(); err != nil || number != want {
			t.Fatalf("frame %d where %d was next: %v", number, want, err)
		}
	}
	c.full.Store(true)
	p.grant(3, 1)
	<-c.refused
	<-c.refused // the first refusal is noted
	p.out.mu.Lock()
	p.out.refused = time.Now().Add(-2 * refusalPatience)
	p.out.mu.Unlock()
	_, body, _, err := p.peer.Read()
	must(t, err)
	if code, _, err := shm.DecodeFailed(body); err != nil || code != shm.FailResources {
		t.Errorf("%v, %v", code, err)
	}
}

// TestOutboxEndsWithAFlood: a peer that is owed more than any correct one
// loses its connection.
func TestOutboxEndsWithAFlood(t *testing.T) {
	for name, send := range map[string]func(p *pipe, i int){
		"frames": func(p *pipe, i int) { p.grant(uint64(i), 1) },
		"bytes":  func(p *pipe, _ int) { p.out.send(make([]byte, 1<<20)) },
	} {
		p := newPipe(t, nil)
		for i := range hardFrames + maxUnread + 2 {
			send(p, i)
		}
		p.out.mu.Lock()
		if !p.out.ended {
			t.Errorf("%s: %d frames of %d bytes wait", name, len(p.out.queue), p.out.bytes)
		}
		p.out.mu.Unlock()
	}
}

// TestOutboxStress sends, throttles, flushes and ends at once, with a peer that
// reads some of the frames.
func TestOutboxStress(t *testing.T) {
	for round := range 150 {
		p := newPipe(t, nil)
		var wait sync.WaitGroup
		for sender := range 3 {
			wait.Go(func() {
				for i := range 60 {
					if sender == 0 && i%10 == 0 {
						p.out.hold()
					}
					p.grant(uint64(i), (sender+i)%3)
					if sender == 0 && i%10 == 5 {
						p.out.release()
					}
					if i%20 == 0 {
						p.out.throttle()
					}
				}
			})
		}
		wait.Go(func() {
			for range round {
				if _, _, err := p.receive(); err != nil {
					return
				}
			}
		})
		wait.Go(func() {
			p.out.flush(time.Duration(round) * 20 * time.Microsecond)
			if round%3 == 0 {
				p.out.stop()
			}
		})
		if round%2 == 0 {
			p.out.close()
		}
		p.out.flush(time.Millisecond)
		p.out.stop()
		p.peer.Close()
		wait.Wait()
	}
}

// lagging is a kernel that hands a frame to the peer before the writer goes on.
type lagging struct {
	frameWriter
	goOn chan struct{}
	went atomic.Bool
}

func (l *lagging) Write(b []byte, fds []int) error {
	err := l.frameWriter.Write(b, fds)
	<-l.goOn
	l.went.Store(true)
	return err
}

// TestSentWaitsForTheWriter: a peer that gives an extent back may be faster
// than the writer that has sent it, which still holds it.
func TestSentWaitsForTheWriter(t *testing.T) {
	l := &lagging{goOn: make(chan struct{})}
	p := newPipe(t, func(w frameWriter) frameWriter { l.frameWriter = w; return l })
	for i := range uint64(maxUnread/shm.FrameMaxFDs) + 1 { // the last one is queued
		p.grant(i, shm.FrameMaxFDs)
	}
	for range maxUnread/shm.FrameMaxFDs + 1 {
		_, _, err := p.receive()
		must(t, err)
	}
	early := make(chan bool)
	go func() {
		p.out.sent(p.extent)
		early <- !l.went.Load()
	}()
	time.Sleep(20 * time.Millisecond) // time to return too early, if it does
	close(l.goOn)
	if <-early {
		t.Error("the writer still holds the extent")
	}
	if queued, _ := p.waiting(); queued != 0 {
		t.Errorf("%d frames wait", queued)
	}
}
