//go:build cuda

package fabric

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// threads copies by threads of a device. Such a copy takes one call of the driver's library,
// however many pieces it has, and writes a mark into host memory when it has ended. Copies
// by engines take a call for each piece, one for the event behind them, and one each time
// that the event is asked, but take no multiprocessors from other work.
type threads struct {
	most   int64 // bytes of a copy
	module *driver.Module
	kernel *driver.Kernel
	host   *driver.Host  // marks, one in a line
	arena  *driver.Arena // counters, one in a line

	mu   sync.Mutex
	used int // marks that are taken
}

const (
	mostMarks = 1024 // copies under way from a device
	markBytes = 64   // a line of the host's caches

	mostSpans = 8                   // GJ_SPANS
	spanWords = 1 + 3*mostSpans + 3 // of gj_spans
	spanUnit  = 16                  // the addresses of a piece are equal modulo this
	blockPart = 64 << 10            // bytes for which a further block pays
	mostParts = 32                  // blocks: they saturate a link between devices
)

// mark is where a copy says that it has ended.
type mark struct {
	word    *uint64 // of host memory; the device writes it
	at      driver.Ptr
	counter driver.Ptr // of blocks
	content uint64     // of word when the latest copy has ended
}

// newThreads loads what threads need for copies of some bytes at most.
func newThreads(c *driver.Context, most int64) (_ *threads, err error) {
	t := &threads{most: most}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if t.module, err = c.Load(kernels.Spans); err != nil {
		return nil, err
	}
	layout, err := t.module.Constants("gj_spans_layout")
	if err != nil {
		return nil, err
	}
	if want := []uint64{8 * spanWords, mostSpans}; !slices.Equal(layout, want) {
		return nil, fmt.Errorf("the kernels' spans have the layout %v in place of %v", layout, want)
	}
	if t.kernel, err = t.module.Kernel("gj_copy_spans"); err != nil {
		return nil, err
	}
	if t.host, err = c.Pinned(mostMarks * markBytes); err != nil {
		return nil, err
	}
	clear(t.host.Bytes())
	if t.arena, err = c.NewArena(mostMarks * driver.Line); err != nil {
		return nil, err
	}
	s, err := c.NewStream()
	if err != nil {
		return nil, err
	}
	if err = errors.Join(s.Memset(t.arena.Base(), 0, mostMarks*driver.Line), s.Close()); err != nil {
		return nil, err
	}
	return t, nil
}

// mark returns a mark that no copy uses, or nil if there is none.
func (t *threads) mark() *mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used == mostMarks {
		return nil
	}
	i := t.used
	t.used++
	return &mark{
		word: &t.host.Words()[i*markBytes/8],
		at:   t.host.DevicePointer() + driver.Ptr(i*markBytes), counter: t.arena.Base() + driver.Ptr(i*driver.Line),
	}
}

// suit reports whether threads are to copy the spans.
func (t *threads) suit(list []driver.Span) bool {
	if len(list) > mostSpans {
		return false
	}
	sum := uint64(0)
	for _, s := range list {
		if (s.To-s.From)%spanUnit != 0 {
			return false
		}
		sum += s.Bytes
	}
	return sum <= uint64(t.most)
}

// copy queues a copy of spans that suit, whose end m tells. After an error nothing is queued.
func (t *threads) copy(s *driver.Stream, list []driver.Span, m *mark) error {
	var words [spanWords]uint64
	words[0] = uint64(len(list))
	sum := uint64(0)
	for i, p := range list {
		words[1+i], words[1+mostSpans+i], words[1+2*mostSpans+i] = uint64(p.To), uint64(p.From), p.Bytes
		sum += p.Bytes
	}
	tail := words[1+3*mostSpans:]
	tail[0], tail[1], tail[2] = uint64(m.counter), uint64(m.at), m.content+1
	blocks := min((sum+blockPart-1)/blockPart, mostParts)
	if err := t.kernel.Launch(s, int(max(blocks, 1)), words[:]...); err != nil {
		return err
	}
	m.content++
	return nil
}

// ended implements ending. A copy that fails does not end; channel.failed tells.
func (m *mark) ended() (bool, error) { return atomic.LoadUint64(m.word) == m.content, nil }

// close frees everything. No copy is under way.
func (t *threads) close() error {
	return errors.Join(t.arena.Close(), t.host.Free(), t.module.Unload())
}
