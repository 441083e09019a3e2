//go:build cuda

package cuda

import (
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/cuda/rowid"
)

// gpu is what executions use of a provider's device.
type gpu struct {
	context    *driver.Context
	platform   links.Platform
	threads    *links.Threads // that pull, where the platform wants that
	general    *rowid.Kernels
	outOfCore  *outofcore.Device
	registered ranges
	peers      []int // ordinals of devices that access its memory
	testHooks
}

// testHooks are set by tests only. Zero values leave decisions to the provider.
type testHooks struct {
	rowIDsOnly bool // no join takes whole sides
}

// transferMethod returns how a piece of host memory is copied to or from the
// device.
func (g *gpu) transferMethod(b []byte) links.Method {
	return g.platform.Choose(g.pageLocked(b))
}

// pageLocked reports whether memory is page-locked for copies of the device.
func (g *gpu) pageLocked(b []byte) bool { return g.registered.holds(b) || slabs.holds(b) }

// hostToDevice queues a direct copy from host memory that needs no staging. The
// memory must not change until the stream has been synchronised.
func (g *gpu) hostToDevice(s *driver.Stream, to driver.Ptr, from []byte) error {
	if g.transferMethod(from) == links.Coherence {
		return g.threads.Move(s, to, links.Address(from), int64(len(from)))
	}
	return s.CopyIn(to, from)
}

// deviceToHost queues a direct copy to host memory that needs no staging.
func (g *gpu) deviceToHost(s *driver.Stream, to []byte, from driver.Ptr) error {
	if g.transferMethod(to) == links.Coherence {
		return g.threads.Move(s, links.Address(to), from, int64(len(to)))
	}
	return s.CopyOut(to, from)
}
