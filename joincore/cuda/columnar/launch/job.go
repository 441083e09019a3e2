//go:build cuda

package launch

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
)

// Job is one join on its way. Its methods queue work and keep the first error
// that one of them meets; after that they do nothing. Rows returns it.
type Job struct {
	Join   *columnar.Join
	Sides  [2]*columnar.Side // build, probe
	Report columnar.Report
	SMs    int

	device  *deviceState
	scratch *scratch
	stream  *driver.Stream
	arena   *driver.Arena
	bottom  driver.Mark
	free    int64 // bytes of the arena when the join began
	cache   int64 // bytes of the device's L2
	holds   []func()
	used    int // bytes of scratch.host
	phases  []columnar.Phase
	err     error
}

// Run checks the join, has f run it and returns f's result with the report.
// Errors are those of columnar.Func, and others where the join is not one that
// the kernels can do.
func Run(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join, algorithm string,
	f func(context.Context, *Job) (*columnar.Output, error)) (*columnar.Output, *columnar.Report, error) {
	start := time.Now()
	if err := check(algorithm, j); err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	state, err := deviceStates.Get(d)
	if err != nil {
		return nil, nil, err
	}
	own, err := state.take()
	if err != nil {
		return nil, nil, err
	}
	b := &Job{Join: j, Sides: [2]*columnar.Side{&j.Build, &j.Probe}, SMs: d.Info().SMs, device: state, scratch: own, stream: s, arena: a, bottom: a.Mark(), free: a.Free(), cache: d.Info().L2}
	b.Report.Algorithm = algorithm
	b.Do(func() error { return s.Record(own.marks[0]) })
	out, err := f(ctx, b)
	if err != nil {
		// Also a join that failed half-way has left work behind that uses scratch and arena.
		if e := s.Sync(context.WithoutCancel(ctx)); e != nil {
			b.release()
			return nil, nil, errors.Join(err, e)
		}
	} else {
		err = b.times()
	}
	b.release()
	state.give(own)
	if err != nil {
		return nil, nil, err
	}
	b.Report.WallMS = float64(time.Since(start)) / float64(time.Millisecond)
	b.Report.PeakBytes += j.Build.Bytes() + j.Probe.Bytes()
	return out, &b.Report, nil
}

// maxRows is the most rows of a side: rows are numbered in 32 bits.
const maxRows = 1<<32 - 1<<20

func check(algorithm string, j *columnar.Join) error {
	key := j.Build.Key.Bytes
	if key != j.Probe.Key.Bytes || key != 4 && key != 8 {
		return fmt.Errorf("%s: keys of %d and %d bytes", algorithm, key, j.Probe.Key.Bytes)
	}
	for _, side := range []*columnar.Side{&j.Build, &j.Probe} {
		if side.Rows < 0 || side.Rows >= maxRows {
			return fmt.Errorf("%s: %d rows are more than can be numbered", algorithm, side.Rows)
		}
		if len(side.Payload) > MaxPayload {
			return fmt.Errorf("%s: %d payload columns are more than %d", algorithm, len(side.Payload), MaxPayload)
		}
		for _, c := range side.Payload {
			switch c.Bytes {
			case 1, 2, 4, 8, 16:
			default:
				return fmt.Errorf("%s: values of %d bytes", algorithm, c.Bytes)
			}
		}
	}
	return nil
}

// Do queues one operation.
func (b *Job) Do(f func() error) {
	if b.err == nil {
		b.err = f()
	}
}

// Take returns the address of n bytes of the arena.
func (b *Job) Take(n int64) uint64 {
	var p driver.Ptr
	b.Do(func() (err error) { p, err = b.arena.Take(n); return err })
	b.Report.PeakBytes = max(b.Report.PeakBytes, int64(b.arena.Mark()-b.bottom))
	return uint64(p)
}

// Mark and Rewind give back what was taken in between, once the work that is
// queued then is done: what this join queues later may use it. For all others
// it stays taken until the join has ended.
func (b *Job) Mark() driver.Mark { return b.arena.Mark() }
func (b *Job) Rewind(m driver.Mark) {
	b.holds = append(b.holds, b.arena.Hold())
	b.arena.Rewind(m)
}

// release ends that.
func (b *Job) release() {
	for i := len(b.holds) - 1; i >= 0; i-- {
		b.holds[i]()
	}
}

// Room returns how many bytes of columns, beside the inputs, a join with so many
// result rows should be content with: what its bound says, or what was free
// where that is less, without what descriptors and counters take.
func (b *Job) Room(rows int64) int64 {
	in := b.Join.Build.Bytes() + b.Join.Probe.Bytes()
	return min(columnar.Bound(in, rows*b.Join.RowBytes())-in, b.free) - small
}

const small = 128 << 10

// Set queues the filling of memory.
func (b *Job) Set(at uint64, value byte, n int64) {
	b.Do(func() error { return b.stream.Memset(driver.Ptr(at), value, n) })
}

// Kernel returns a kernel of the module; one without numbers, which nothing
// launches, after an error. That the module has none of that name is one, too.
func (b *Job) Kernel(format string, args ...any) *driver.Kernel {
	k := &driver.Kernel{}
	b.Do(func() error {
		found, err := b.device.module.Kernel(fmt.Sprintf(format, args...))
		if err == nil {
			k = found
		}
		return err
	})
	return k
}

// Grid returns the blocks that fill the device with a kernel, at most one for
// each of items.
func (b *Job) Grid(k *driver.Kernel, items int64) int {
	if b.err != nil {
		return 0
	}
	return k.Grid(items)
}

// Launch queues a kernel.
func (b *Job) Launch(k *driver.Kernel, grid int, args ...uint64) {
	b.Report.Launches++
	b.Do(func() error { return k.Launch(b.stream, grid, args...) })
}

// Put brings a descriptor of 8-byte fields to the device and returns its
// address there.
func Put[D any](b *Job, d *D) uint64 {
	size := int(unsafe.Sizeof(*d))
	at := b.Take(int64(size))
	b.Do(func() error {
		if hostDescriptors+b.used+size > hostBytes {
			return fmt.Errorf("%s: descriptors of more than %d bytes", b.Report.Algorithm, hostBytes)
		}
		host := b.scratch.host.Bytes()[hostDescriptors+b.used:][:size]
		*(*D)(unsafe.Pointer(&host[0])) = *d
		b.used += size
		return b.stream.CopyIn(driver.Ptr(at), host)
	})
	return at
}

// Random models the bytes that n accesses of random places in `of` bytes move,
// each ReadAtRandom or WrittenAtRandom of them.
func (b *Job) Random(n, unit, of int64) int64 { return random(n, unit, of, b.cache) }

// Phase ends a phase of the join that reads and writes so many bytes as modelled.
func (b *Job) Phase(name string, bytes int64) {
	b.Report.Bytes += bytes
	if !b.Join.Phases || len(b.phases) == maxMarks-2 {
		return
	}
	b.phases = append(b.phases, columnar.Phase{Name: name, Bytes: bytes})
	b.Do(func() error { return b.stream.Record(b.scratch.marks[len(b.phases)]) })
}

// Rows waits for what is queued and returns the number of rows at the address.
func (b *Job) Rows(ctx context.Context, at uint64) (int64, error) {
	var rows [1]uint64
	err := b.Read(ctx, at, rows[:])
	return int64(rows[0]), err
}

// Read waits for what is queued and reads the words at the address, 4 at most.
func (b *Job) Read(ctx context.Context, at uint64, words []uint64) error {
	host := b.scratch.host.Bytes()[hostWords : hostWords+8*len(words)]
	b.Do(func() error { return b.stream.CopyOut(host, driver.Ptr(at)) })
	b.Do(func() error { return b.stream.Record(b.scratch.marks[maxMarks-1]) })
	b.Do(func() error { b.Report.Syncs++; return b.stream.Sync(ctx) })
	if b.err != nil {
		return b.err
	}
	b.used = 0
	copy(words, b.scratch.host.Words()[hostWords/8:])
	return nil
}

// times fills the report's times from the marks.
func (b *Job) times() (err error) {
	marks := b.scratch.marks
	if b.Report.MS, err = marks[maxMarks-1].Since(marks[0]); err != nil {
		return err
	}
	for i := range b.phases {
		if b.phases[i].MS, err = marks[i+1].Since(marks[i]); err != nil {
			return err
		}
	}
	b.Report.Phases = b.phases
	return nil
}
