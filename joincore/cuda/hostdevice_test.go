//go:build cuda

package cuda

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/device"
	"gpujoin/testsupport/suite"
)

// What a coherent platform does is tried where the device sees page-locked
// memory at the host's addresses: the provider is told of neither.
func TestCoherentMemoryIsPulled(t *testing.T) {
	p := provider(t, 64<<20)
	b := mapping(t, 4<<20)
	r, err := p.context.Register(b)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	if r.DevicePointer() != links.Address(b) {
		t.Skip("the device has addresses of its own for memory of the host")
	}
	if p.threads == nil {
		if p.threads, err = links.LoadThreads(p.context); err != nil {
			t.Fatal(err)
		}
	}
	p.platform.HostPageTables = true
	d, err := p.Open(&suite.Arena{}, device.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	w := d.(*execution).workspace
	st := w.upload.stream
	at, err := w.Alloc(2 << 20)
	if err != nil {
		t.Fatal(err)
	}
	from, to := b[:1<<20], b[2<<20:]
	for i := range from {
		from[i] = byte(i * i >> 3)
	}
	for _, n := range []int{1, 7, 4096, 1<<20 - 9} {
		clear(to)
		want := append(make([]byte, 5), from[3:3+n]...)
		err := w.copyIn(t.Context(), at+driver.Ptr(1), from[3:3+n])
		if err := errors.Join(err, p.deviceToHost(st, to[5:5+n], at+1), st.Sync(t.Context())); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(to[:5+n], want) || !bytes.Equal(to[5+n:], make([]byte, len(to)-5-n)) {
			t.Errorf("%d bytes: others came back", n)
		}
	}
}

// Memory that is registered is copied where it lies, other memory is staged.
func TestWayOfMemory(t *testing.T) {
	p := provider(t, 64<<20)
	p.platform.HostPageTables = false
	b := mapping(t, 1<<20)
	if m := p.transferMethod(b); m != links.Staged {
		t.Errorf("before: %s", m)
	}
	release, err := p.Register(b)
	if err != nil {
		t.Fatal(err)
	}
	if m := p.transferMethod(b[100:200]); m != links.Pinned {
		t.Errorf("registered: %s", m)
	}
	release()
	if m := p.transferMethod(b); m != links.Staged {
		t.Errorf("afterwards: %s", m)
	}
	p.platform.HostRegister = false
	if _, err := p.Register(b); err == nil {
		t.Error("registered by a device that cannot")
	}
}

func mapping(t *testing.T, n int) []byte {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	return b
}
