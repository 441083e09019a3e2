//go:build cuda

package cuda

import (
	"testing"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/testsupport/suite"
)

// TestAsync has all GPUs at work at the same time; the part that wants two is
// skipped where there is one.
func TestAsync(t *testing.T) {
	s := suite.Subject{Provider: provider(t, 256<<20), OwnMemory: true}
	devices, err := driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range devices[1:] {
		p, err := New(Config{Ordinal: info.Ordinal, Budget: 256 << 20, Streams: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		s.Peers = append(s.Peers, p)
	}
	suite.Async(t, s)
}

// TestMemoryIsRegisteredForAllGPUs: each of them copies it where it lies, and
// it stays locked until the last one has released it.
func TestMemoryIsRegisteredForAllGPUs(t *testing.T) {
	devices, err := driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if len(devices) < 2 {
		t.Skip("there is one device: no other one registers its memory")
	}
	first := provider(t, 64<<20)
	second, err := New(Config{Ordinal: 1, Budget: 64 << 20, Streams: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	mem := registered(t, first, make([]byte, 1<<20))
	release, err := second.Register(mem[:cap(mem)])
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Provider{first, second} {
		if !p.registered.holds(mem) {
			t.Errorf("device %d copies registered memory in steps", p.Info().Ordinal)
		}
	}
	release()
	if second.registered.holds(mem) || !first.registered.holds(mem) {
		t.Error("memory was released for the wrong device")
	}
}
