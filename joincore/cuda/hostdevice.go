//go:build cuda

package cuda

import (
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/transfer"
)

// transferMethod returns how a piece of host memory crosses the link.
func (p *Provider) transferMethod(b []byte) transfer.Method {
	return p.platform.Choose(p.registered.holds(b))
}

// hostToDevice queues a copy from where host memory lies, or says that it has to be
// staged. The memory stays as it is until the stream has been synchronised.
func (p *Provider) hostToDevice(s *driver.Stream, to driver.Ptr, from []byte) (queued bool, err error) {
	switch p.transferMethod(from) {
	case transfer.Pinned:
		return true, s.CopyIn(to, from)
	case transfer.Coherence:
		return true, p.threads.Move(s, to, transfer.Address(from), int64(len(from)))
	}
	return false, nil
}

// deviceToHost queues a copy to where host memory lies, if it need not be staged.
func (p *Provider) deviceToHost(s *driver.Stream, to []byte, from driver.Ptr) error {
	if p.transferMethod(to) == transfer.Coherence {
		return p.threads.Move(s, transfer.Address(to), from, int64(len(to)))
	}
	return s.CopyOut(to, from)
}
