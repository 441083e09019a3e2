//go:build cuda

package cuda

import (
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/links"
)

// transferMethod returns how a piece of host memory is copied to or from the
// device.
func (p *Provider) transferMethod(b []byte) links.Method {
	return p.platform.Choose(p.pageLocked(b))
}

// pageLocked reports whether memory is page-locked for copies of the device.
func (p *Provider) pageLocked(b []byte) bool { return p.registered.holds(b) || slabs.holds(b) }

// hostToDevice queues a direct copy from host memory that needs no staging. The
// memory must not change until the stream has been synchronised.
func (p *Provider) hostToDevice(s *driver.Stream, to driver.Ptr, from []byte) error {
	if p.transferMethod(from) == links.Coherence {
		return p.threads.Move(s, to, links.Address(from), int64(len(from)))
	}
	return s.CopyIn(to, from)
}

// deviceToHost queues a direct copy to host memory that needs no staging.
func (p *Provider) deviceToHost(s *driver.Stream, to []byte, from driver.Ptr) error {
	if p.transferMethod(to) == links.Coherence {
		return p.threads.Move(s, links.Address(to), from, int64(len(to)))
	}
	return s.CopyOut(to, from)
}
