//go:build cuda

package rowid

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// PartitionSpec says how a side is partitioned.
type PartitionSpec struct {
	Key *device.Key
	// To says where rows go, by partition and then by lane; nil: to the arena,
	// one partition after the other.
	To []Destination
	// IDs and Device make row ids of row numbers: zero values leave them.
	IDs    device.RowIDs
	Device int
	Options
}

// Partitions are the keys and row ids of the rows of a side that have a key, by
// partition of the key's hash: its highest bits. Within a partition they have
// no order.
type Partitions struct {
	q       *Queue
	keys    *keyed
	radix   radix
	lacking *Future     // nil: nothing can lack
	mark    driver.Mark // of the arena before
}

// Bits returns how many bits of the hash choose the partition.
func (p *Partitions) Bits() int { return p.radix.first + p.radix.second }

// Release rewinds the arena to where Partition began.
func (p *Partitions) Release() { p.q.arena.Rewind(p.mark) }

// Partition moves the keys and row ids of a side to their partitions. It keeps
// memory of the arena from then on: counts, and the rows where no destinations
// are given. Those want at least one bit.
func (q *Queue) Partition(ctx context.Context, s Side, spec *PartitionSpec) (*Partitions, error) {
	r, err := q.radix(spec.Key, s.Rows, spec.Bits)
	if err != nil {
		return nil, err
	}
	if s.Rows > spec.IDs.Rows() {
		return nil, fmt.Errorf("%d rows have no ids, %d have: %w", s.Rows, spec.IDs.Rows(), joincore.ErrUnsupported)
	}
	if spec.To != nil {
		if r.first == 0 {
			return nil, fmt.Errorf("destinations of no partitions: %w", joincore.ErrInvalid)
		}
		if err := checkDestinations(spec.To, r.partitions(), r.lanes()); err != nil {
			return nil, err
		}
	}
	return q.partitionBy(ctx, s, spec, r)
}

// radix returns how a side of so many rows is partitioned by so many bits; 0:
// such that the match has about a chunk of each partition.
func (q *Queue) radix(key *device.Key, rows int64, bits int) (r radix, err error) {
	r.words = keyWords(key)
	chunk, err := q.kernels.module.Kernel(fmt.Sprintf("gj_partners_k%d", r.words))
	if err != nil {
		return r, err
	}
	first, err := q.kernels.module.Kernel(fmt.Sprintf("gj_first_k%d", r.words))
	if err != nil {
		return r, err
	}
	r.first, r.second = radixBits(rows, chunk.Rows, first.Fan, bits)
	return r, nil
}

// partitionBy does the same with given bits of each pass, also with none.
func (q *Queue) partitionBy(ctx context.Context, s Side, spec *PartitionSpec, r radix) (*Partitions, error) {
	p := &Partitions{q: q, radix: r, mark: q.arena.Mark()}
	if err := p.make(ctx, s, spec); err != nil {
		p.Release()
		return nil, err
	}
	q.arena.Rewind(p.keys.mark)
	return p, nil
}

// make partitions the side as if it were the build side of a join that has no
// probe rows.
func (p *Partitions) make(ctx context.Context, s Side, spec *PartitionSpec) (err error) {
	q := p.q
	if p.keys, err = q.newKeyed(ctx, s, spec.Key, p.radix, &spec.Options, spec.To != nil); err != nil {
		return err
	}
	p.keys.Origin = uint64(spec.IDs.First(spec.Device))
	none, err := q.newKeyed(ctx, Side{}, &device.Key{Exact: true}, p.radix, &spec.Options, false)
	if err != nil {
		return err
	}
	d := p.radix.descriptor(p.keys, none)
	if d.Counters, d.Extra, err = q.planMemory(p.radix); err != nil {
		return err
	}
	join, err := q.arrange(ctx, &d)
	if err != nil {
		return err
	}
	to, err := q.given(ctx, spec.To)
	if err != nil {
		return err
	}
	if err := q.partition(join, buildSide, p.keys, p.radix, to); err != nil || to == nil {
		return err
	}
	p.lacking, err = q.later(ctx, q.numbers, to.lacking, 8)
	return err
}

// Fits waits for whether all partitions fit where they go. It is a *NoRoomError
// where one does not.
func (p *Partitions) Fits(ctx context.Context) error {
	if p.lacking == nil {
		return nil
	}
	b, err := p.lacking.Wait(ctx)
	if err != nil {
		return err
	}
	lacking := binary.LittleEndian.Uint64(b)
	if lacking == nothingLacks {
		return nil
	}
	return &NoRoomError{Partition: int(lacking >> 32), Rows: int64(uint32(lacking))}
}

// Histogram is how many rows each partition has.
type Histogram struct{ future *Future }

// histogramSlots is how many histograms may be under way without one waiting
// for another: those of both sides.
const histogramSlots = 2

// Histogram sends the partitions' sizes to the host. The queue goes on.
func (p *Partitions) Histogram(ctx context.Context) (*Histogram, error) {
	q := p.q
	if q.histograms == nil {
		memory, err := q.kernels.context.Pinned(histogramSlots * 4 << (2 * maxPassBits))
		if err != nil {
			return nil, err
		}
		if q.histograms, err = newMailbox(q.kernels.context, memory.Bytes(), histogramSlots); err != nil {
			return nil, errors.Join(err, memory.Free())
		}
		q.histogram = memory
	}
	f, err := q.later(ctx, q.histograms, driver.Ptr(p.keys.Counts), int64(4*p.radix.partitions()))
	return &Histogram{f}, err
}

// Device returns the number of the device that computes it.
func (h *Histogram) Device() int { return h.future.Device() }

// Wait waits for the partitions and returns their rows.
func (h *Histogram) Wait(ctx context.Context) ([]int64, error) {
	b, err := h.future.Wait(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]int64, len(b)/4)
	for i := range rows {
		rows[i] = int64(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return rows, nil
}
