//go:build cuda

package fabric

import (
	"errors"

	"gpujoin/joincore/cuda/driver"
)

// stageBytes is one half of a staging buffer.
const stageBytes = 4 << 20

// stage copies between GPUs that do not reach each other's memory: from one GPU to a half
// of a page-locked buffer, and from there to the other GPU.
type stage struct {
	stream *driver.Stream // on the GPU that receives
	host   *driver.Host
	half   [2]half
	next   int
}

// half is a half of the buffer: full when the copy into it has ended, empty when the copy
// out of it has.
type half struct{ full, empty *driver.Event }

func newStage(from, to *driver.Context) (_ *stage, err error) {
	s := &stage{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.stream, err = to.NewStream(); err != nil {
		return nil, err
	}
	if s.host, err = from.Pinned(2 * stageBytes); err != nil {
		return nil, err
	}
	for i := range s.half {
		h := &s.half[i]
		if h.full, err = from.NewEvent(false); err != nil {
			return nil, err
		}
		if h.empty, err = to.NewEvent(false); err != nil {
			return nil, err
		}
		if err = s.stream.Record(h.empty); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// copies queues copies up to the first that cannot be queued.
func (s *stage) copies(sender *driver.Stream, list []driver.Span) error {
	for _, c := range list {
		if err := s.copy(sender, c.To, c.From, int64(c.Bytes)); err != nil {
			return err
		}
	}
	return nil
}

// copy queues a copy that begins on the sender's stream and ends on s.stream.
func (s *stage) copy(sender *driver.Stream, target, source driver.Ptr, bytes int64) error {
	for done := int64(0); done < bytes; {
		n := min(bytes-done, stageBytes)
		h := &s.half[s.next]
		memory := s.host.Bytes()[s.next*stageBytes:][:n]
		for _, step := range []func() error{
			func() error { return sender.Wait(h.empty) },
			func() error { return sender.CopyOut(memory, source+driver.Ptr(done)) },
			func() error { return sender.Record(h.full) },
			func() error { return s.stream.Wait(h.full) },
			func() error { return s.stream.CopyIn(target+driver.Ptr(done), memory) },
			func() error { return s.stream.Record(h.empty) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		s.next = 1 - s.next
		done += n
	}
	return nil
}

func (s *stage) close() error {
	err := s.stream.Close()
	for _, h := range s.half {
		err = errors.Join(err, h.full.Close(), h.empty.Close())
	}
	return errors.Join(err, s.host.Free())
}
