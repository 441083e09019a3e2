//go:build cuda

package columnar

import (
	"context"
	"fmt"
	"unsafe"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/driver"
)

// The units of a table on the host lie in page-locked memory, one after the other. A device makes some of them
// at a time in its own memory, where atomic operations are fast, and copies them out; the kernels
// of probes read them over the link. Each time the device looks at all keys once more: 2^29 keys of 4 bytes take it
// less than 1 ms, and the copy of a unit of 128 MB more than 2 ms.

// takeHost takes the memory for units on the host, if there are any.
func (t *SpreadTable) takeHost(take func(bytes int64) ([]byte, error)) (err error) {
	units := t.shape.on(costmodel.OnHost)
	if units == 0 {
		return nil
	}
	if take == nil {
		return fmt.Errorf("npj: %d units of a table are to be on the host, where there is no memory for them: %w", units, joincore.ErrUnsupported)
	}
	t.Hosted = float64(units) / float64(len(t.shape.place))
	t.host, err = take(int64(units) * t.shape.unitBytes())
	return err
}

// makeHosted queues that units of the host are made, as many at a time as half of the device's free memory holds. The
// caller takes that memory back when the device has done it.
func (t *SpreadTable) makeHosted(ctx context.Context, b *Job, d spreadDescriptor, units []int) error {
	if len(units) == 0 {
		return nil
	}
	bytes, place := t.shape.unitBytes(), t.hostPlaces()
	most := int(min(int64(len(units)), max(b.arena.Free()/2/bytes, 1)))
	at := b.Take(int64(most) * bytes)
	behind := b.Mark()
	for len(units) > 0 && b.Err() == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.Rewind(behind)
		some := units[:min(most, len(units))]
		units = units[len(some):]
		list := make([]uint64, len(t.shape.place))
		for k, u := range some {
			list[u] = at + uint64(int64(k)*bytes)
		}
		b.Set(at, 0xff, int64(len(some))*bytes)
		t.enterUnits(b, d, list)
		for _, u := range some {
			b.Do(func() error { return b.stream.CopyOut(t.host[place[u]:place[u]+bytes], driver.Ptr(list[u])) })
		}
	}
	return b.Err()
}

// hostPlaces returns, by unit, where in the memory of the host it begins.
func (t *SpreadTable) hostPlaces() []int64 {
	list, next := make([]int64, len(t.shape.place)), int64(0)
	for u, d := range t.shape.place {
		if d == costmodel.OnHost {
			list[u] = next
			next += t.shape.unitBytes()
		}
	}
	return list
}

// addressOf returns the address of page-locked memory, on the host and on all devices; 0 of none.
func addressOf(memory []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory))))
}
