package child

import (
	"bytes"
	"log/slog"
	"os"
	"testing"

	"gpujoin/shm"
	"gpujoin/sidecar/worker/control"
)

// TestGiveFails: a message of which one extent is refused leaves no mapping, no
// descriptor and no extent.
func TestGiveFails(t *testing.T) {
	const size = 1 << 20
	extent := func() int {
		fd, err := shm.CreateMemfd(size)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	for name, c := range map[string]struct {
		ids []uint64
		bad bool // the last descriptor is not an extent
	}{
		"no extent":                    {[]uint64{2, 3, 4}, true},
		"an extent that the pool has":  {[]uint64{2, 3, 1}, false},
		"an extent twice in a message": {[]uint64{2, 3, 3}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(nil, slog.New(slog.DiscardHandler))
			if err := p.give(&control.Message{Kind: control.Give, Size: size, Extents: []uint64{1}, FDs: []int{extent()}}); err != nil {
				t.Fatal(err)
			}
			defer p.drop(1)
			maps, open := extentMaps(t), openFDs(t)
			m := &control.Message{Kind: control.Give, Size: size, Extents: c.ids}
			for range c.ids {
				m.FDs = append(m.FDs, extent())
			}
			if c.bad {
				shm.CloseFDs(m.FDs[2:])
				other, err := shm.CreateMemfd(2 * size)
				if err != nil {
					t.Fatal(err)
				}
				m.FDs[2] = other
			}
			if err := p.give(m); err == nil {
				t.Fatal("the message was accepted")
			}
			if n := extentMaps(t); n != maps {
				t.Errorf("%d extents are mapped instead of %d", n, maps)
			}
			if n := openFDs(t); n != open {
				t.Errorf("%d descriptors are open instead of %d", n, open)
			}
			if len(p.extents) != 1 {
				t.Errorf("the pool has %d extents", len(p.extents))
			}
		})
	}
}

// extentMaps returns the number of mappings of memfds.
func extentMaps(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("/memfd:"))
}

func openFDs(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
