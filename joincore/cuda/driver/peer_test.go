//go:build cuda

package driver

import (
	"syscall"
	"testing"
	"time"
)

// second opens another device that can share memory with the first one in both
// directions.
func second(t *testing.T, first *Context) (*Context, *Stream) {
	t.Helper()
	all, err := Devices()
	must(t, err)
	if len(all) < 2 {
		t.Skip("there is one device: nothing lies on another one")
	}
	c, err := Open(1)
	must(t, err)
	s, err := c.NewStream()
	must(t, err)
	t.Cleanup(func() { must(t, s.Close(), c.Close()) })
	for _, pair := range [][2]*Context{{first, c}, {c, first}} {
		ok, err := pair[0].Reaches(pair[1])
		must(t, err)
		if !ok {
			t.Skipf("device %d does not reach memory of device %d", pair[0].Info().Ordinal, pair[1].Info().Ordinal)
		}
	}
	return c, s
}

func TestStreamsSayTheirDevice(t *testing.T) {
	c, s := open(t)
	if s.Device() != 0 {
		t.Errorf("stream of device %d", s.Device())
	}
	if ok, err := c.Reaches(c); !ok || err != nil {
		t.Errorf("a device does not reach its own memory: %v", err)
	}
	if _, stream := second(t, c); stream.Device() != 1 {
		t.Errorf("stream of device %d", stream.Device())
	}
}

// TestPeerMemory: a kernel writes another device's memory by its address, and a stream
// of that device waits for it by an event, without the host.
func TestPeerMemory(t *testing.T) {
	c, s := open(t)
	other, stream := second(t, c)
	const n = 10_000
	a, err := other.NewArena(1<<20, c)
	must(t, err)
	defer a.Close()
	host, err := other.Pinned(8 * n)
	must(t, err)
	defer host.Free()
	at, err := a.Take(8 * n)
	must(t, err)
	must(t, stream.Memset(at, 0, 8*n), stream.Then(s))
	spin, add := kernel(t, c, faultPTX, "spin"), kernel(t, c, addPTX, "add")
	must(t, spin.Launch(s, 1, uint64(20*time.Millisecond)), add.Launch(s, (n+127)/128, uint64(at), n, 5))
	must(t, s.Then(stream), stream.CopyOut(host.Bytes(), at), stream.Sync(t.Context()))
	for i, w := range host.Words() {
		if w != 5 {
			t.Fatalf("number %d is %d", i, w)
		}
	}
}

// TestCopiesBetweenDevices: memory that is not shared can be copied.
func TestCopiesBetweenDevices(t *testing.T) {
	c, s := open(t)
	other, stream := second(t, c)
	here, there := arena(t, c, 1<<20), arena(t, other, 1<<20)
	host, err := c.Pinned(1 << 20)
	must(t, err)
	defer host.Free()
	must(t, s.Memset(here.Base(), 7, 1<<20), s.Then(stream))
	must(t, stream.CopyPeer(there.Base(), here.Base(), c, 1<<20), stream.CopyOut(host.Bytes(), there.Base()), stream.Sync(t.Context()))
	if b := host.Bytes(); b[0] != 7 || b[1<<20-1] != 7 {
		t.Errorf("copied %d and %d", b[0], b[1<<20-1])
	}
}

// TestRegistrationsAreForAllDevices: memory registered by one device can be copied by
// another one, which cannot register it again.
func TestRegistrationsAreForAllDevices(t *testing.T) {
	c, _ := open(t)
	other, stream := second(t, c)
	mem, err := syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	must(t, err)
	defer syscall.Munmap(mem)
	r, err := c.Register(mem)
	must(t, err)
	if again, err := other.Register(mem); err == nil {
		t.Error("registered twice", again.Close())
	}
	a := arena(t, other, 1<<20)
	mem[0], mem[1<<20-1] = 3, 4
	must(t, stream.CopyIn(a.Base(), mem), stream.Sync(t.Context()))
	clear(mem)
	must(t, stream.CopyOut(mem, a.Base()), stream.Sync(t.Context()))
	if mem[0] != 3 || mem[1<<20-1] != 4 {
		t.Error("copied wrongly")
	}
	must(t, r.Close())
}

func TestADeviceIsNoPeerOfItsOwn(t *testing.T) {
	c, s := open(t)
	a, err := c.NewArena(1<<20, c, c)
	must(t, err)
	defer a.Close()
	must(t, s.Memset(a.Base(), 1, 1<<20), s.Sync(t.Context()))
}
