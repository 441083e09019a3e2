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
	// To has the destinations, by partition and then by lane; nil: the arena, one
	// partition after the other.
	To []Destination
	// IDs and Device turn row numbers into row ids; zero values leave them unchanged.
	IDs    device.RowIDs
	Device int
	Options
}

// Partitions are the keys and row ids of a side's rows whose key is not NULL, by
// partition: the highest bits of the key's hash. Rows of a partition have no order.
type Partitions struct {
	q       *Queue
	keys    *keyed
	radix   radix
	lacking *Future     // nil: every partition fits
	mark    driver.Mark // of the arena before Partition
}

// Bits returns the number of hash bits that number a partition.
func (p *Partitions) Bits() int { return p.radix.first + p.radix.second }

// Release rewinds the arena to where Partition began.
func (p *Partitions) Release() { p.q.arena.Rewind(p.mark) }

// Partition moves the keys and row ids of a side to their partitions. Until Release it
// uses memory of the arena for counts, and for the rows if there are no destinations.
// Destinations need at least one radix bit.
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

// radix returns how a side of the given rows is partitioned by `bits` bits; 0:
// such that each partition has about one chunk of the match.
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

// partitionBy is Partition with given bits for each pass, which may be 0.
func (q *Queue) partitionBy(ctx context.Context, s Side, spec *PartitionSpec, r radix) (*Partitions, error) {
	p := &Partitions{q: q, radix: r, mark: q.arena.Mark()}
	if err := p.make(ctx, s, spec); err != nil {
		p.Release()
		return nil, err
	}
	q.arena.Rewind(p.keys.mark)
	return p, nil
}

// make partitions the side as the build side of a join without probe rows.
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

// Fits waits until it is known whether all partitions fit their destinations, and
// returns a *NoRoomError if one does not.
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
	return &NoRoomError{Partition: int(lacking >> 32), Missing: int64(uint32(lacking))}
}

// Histogram is the number of rows of each partition, a future.
type Histogram struct{ future *Future }

// histogramSlots is the number of histograms that may be pending without waiting for
// each other: both sides'.
const histogramSlots = 2

// Histogram queues the copy of the partitions' sizes to the host; the queue continues.
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

// Wait waits for the partitions and returns their sizes in rows.
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
