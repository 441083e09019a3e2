//go:build cuda

package columnar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
)

// Job is one running join. Its methods queue work. They keep the first error, after
// which they do nothing; Rows returns it.
type Job struct {
	Join   *Join
	Sides  [2]*Side // build, probe
	Report Report
	SMs    int
	// ReadBack names the phase that ends when Read has copied its words; "": they
	// belong to no phase.
	ReadBack string
	// Spin is how long Read does not leave the processor.
	Spin time.Duration

	device  *deviceState
	scratch *scratch
	stream  *driver.Stream
	arena   *driver.Arena
	bottom  driver.Mark
	free    int64 // free bytes of the arena when the join began
	cache   int64 // bytes of the device's L2 cache
	holds   []func()
	pending [2][]*driver.Event // of the sides, not waited for yet
	phases  []Phase
	reading bool // QueueRead was called, Read was not yet
	err     error
}

// Run checks the join, runs f and returns f's result with the report. Errors are
// those of columnar.Func, and an error if the kernels do not support the join.
func Run(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join, algorithm string,
	f func(context.Context, *Job) (*Output, error)) (*Output, *Report, error) {
	return RunEarly(ctx, d, s, a, j, algorithm, func(ctx context.Context, b *Job) (*Output, error) {
		b.Await(0)
		b.Await(1)
		return f(ctx, b)
	})
}

// RunEarly is Run for a join that begins before its payload has been uploaded: f calls
// Await for a side before it reads the side's payload.
func RunEarly(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *Join, algorithm string,
	f func(context.Context, *Job) (*Output, error)) (*Output, *Report, error) {
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
	b := &Job{Join: j, Sides: [2]*Side{&j.Build, &j.Probe}, SMs: d.Info().SMs, device: state, scratch: own, stream: s, arena: a, bottom: a.Mark(), free: a.Free(), cache: d.Info().L2, Spin: driver.SpinFor}
	b.pending = [2][]*driver.Event{j.Build.Pending, j.Probe.Pending}
	b.Report.Algorithm = algorithm
	b.Begin()
	out, err := f(ctx, b)
	if err != nil {
		// A failed join, too, has queued work that uses scratch and arena.
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

// vectorBytes is what histograms read keys by.
const vectorBytes = 16

// CheckPayload returns an error if a side has more payload columns than the
// descriptors of this package hold.
func CheckPayload(algorithm string, j *Join) error {
	for _, side := range []*Side{&j.Build, &j.Probe} {
		if len(side.Payload) > MaxPayload {
			return fmt.Errorf("%s: %d payload columns are more than %d", algorithm, len(side.Payload), MaxPayload)
		}
	}
	return nil
}

func check(algorithm string, j *Join) error {
	if err := checkRows([2]int64{j.Build.Rows, j.Probe.Rows}, j.OutputRows); err != nil {
		return fmt.Errorf("%s: %w", algorithm, err)
	}
	key := j.Build.Key.Bytes
	if key != j.Probe.Key.Bytes || key != 4 && key != 8 {
		return fmt.Errorf("%s: keys of %d and %d bytes", algorithm, key, j.Probe.Key.Bytes)
	}
	for _, side := range []*Side{&j.Build, &j.Probe} {
		if side.Key.Addr%vectorBytes != 0 {
			return fmt.Errorf("%s: keys at %#x are not at a multiple of %d", algorithm, side.Key.Addr, vectorBytes)
		}
		for _, c := range side.Payload {
			switch c.Bytes {
			case 1, 2, 4, 8, 16:
			default:
				return fmt.Errorf("%s: values of %d bytes", algorithm, c.Bytes)
			}
			if c.Addr%driver.Ptr(c.Bytes) != 0 {
				return fmt.Errorf("%s: values of %d bytes at %#x", algorithm, c.Bytes, c.Addr)
			}
		}
	}
	return nil
}

// Do queues one operation, unless an earlier one failed.
func (b *Job) Do(f func() error) {
	if b.err == nil {
		b.err = f()
	}
}

// Err returns the first error of an operation.
func (b *Job) Err() error { return b.err }

// Attempt calls f and returns its error, or that of an operation. After
// joincore.ErrBudget the job can go on; the caller rewinds the memory that f took. f
// must return when memory is missing.
func (b *Job) Attempt(f func() error) error {
	if b.err != nil {
		return b.err
	}
	err := f()
	if err == nil {
		err = b.err
	}
	if errors.Is(err, joincore.ErrBudget) {
		b.err = nil
	}
	return err
}

// Begin starts the join's time. Run calls it; a later call excludes planning and
// loading before it.
func (b *Job) Begin() { b.Do(func() error { return b.stream.Record(b.scratch.marks[0]) }) }

// Await makes later work wait for the payload of side i, unless an earlier call did.
func (b *Job) Await(i int) {
	if len(b.pending[i]) == 0 {
		return
	}
	for _, e := range b.pending[i] {
		b.Do(func() error { return b.stream.Wait(e) })
	}
	b.pending[i] = nil
	b.Phase(PhaseTransfer, 0)
}

// Take returns the address of n bytes of the arena.
func (b *Job) Take(n int64) uint64 {
	var p driver.Ptr
	b.Do(func() (err error) { p, err = b.arena.Take(n); return err })
	b.Report.PeakBytes = max(b.Report.PeakBytes, int64(b.arena.Mark()-b.bottom))
	return uint64(p)
}

// Mark and Rewind release the memory taken in between for later operations of this
// join; they run after the operations queued so far. For all others it stays taken
// until the join ends.
func (b *Job) Mark() driver.Mark { return b.arena.Mark() }
func (b *Job) Rewind(m driver.Mark) {
	b.holds = append(b.holds, b.arena.Hold())
	b.arena.Rewind(m)
}

// release gives such memory back to the arena.
func (b *Job) release() {
	for i := len(b.holds) - 1; i >= 0; i-- {
		b.holds[i]()
	}
}

// Room returns the bytes of columns, in addition to the inputs, that a join with the
// given number of result rows may use: its bound or the free memory, whichever is
// less, minus descriptors and counters.
func (b *Job) Room(rows int64) int64 {
	in := b.Join.Build.Bytes() + b.Join.Probe.Bytes()
	return min(Bound(in, b.Join.Build.Rows+b.Join.Probe.Rows, rows*b.Join.RowBytes())-in, b.free) - small
}

const small = 128 << 10

// Set queues a fill of n bytes.
func (b *Job) Set(at uint64, value byte, n int64) {
	b.Do(func() error { return b.stream.Memset(driver.Ptr(at), value, n) })
}

// Kernel returns a kernel of the module. If there is none, that becomes the job's
// error; after an error Kernel returns a zero kernel, which is never launched.
func (b *Job) Kernel(format string, args ...any) *driver.Kernel {
	k := &driver.Kernel{}
	b.Do(func() error {
		found, err := b.device.kernel(fmt.Sprintf(format, args...))
		if err == nil {
			k = found
		}
		return err
	})
	return k
}

// Grid returns the number of blocks that fill the device, at most `items`.
func (b *Job) Grid(k *driver.Kernel, items int64) int {
	if b.err != nil {
		return 0
	}
	return k.Grid(items)
}

// Launch queues a kernel.
func (b *Job) Launch(k *driver.Kernel, grid int, args ...uint64) {
	b.LaunchShared(k, grid, k.Shared, args...)
}

// LaunchShared queues a kernel with the given number of bytes of dynamic shared
// memory.
func (b *Job) LaunchShared(k *driver.Kernel, grid, shared int, args ...uint64) {
	b.Report.Launches++
	b.Do(func() error { return k.LaunchShared(b.stream, grid, shared, args...) })
}

// Put copies a descriptor of 8-byte fields to the device and returns its device
// address.
func Put[D any](b *Job, d *D) uint64 {
	at := b.Take(int64(unsafe.Sizeof(*d)))
	b.PutAt(at, BytesOf(unsafe.Slice(d, 1)))
	return at
}

// PutAt copies descriptors, one part after the other, to an address on the device.
func (b *Job) PutAt(at uint64, parts ...[]byte) { b.PutOn(b.stream, at, parts...) }

// PutOn is PutAt on a stream of the caller, which has ended when the join does.
func (b *Job) PutOn(s *driver.Stream, at uint64, parts ...[]byte) {
	all := slices.Concat(parts...)
	b.Do(func() error {
		host, err := b.scratch.staging.take(len(all))
		if err != nil {
			return err
		}
		copy(host, all)
		return s.CopyIn(driver.Ptr(at), host)
	})
}

// BytesOf returns the bytes of descriptors.
func BytesOf[D any](list []D) []byte {
	var d D
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(d)))
}

// Random models the bytes moved by n random accesses of `unit` bytes each
// (ReadAtRandom or WrittenAtRandom) within `of` bytes.
func (b *Job) Random(n, unit, of int64) int64 { return random(n, unit, of, b.cache) }

// Phase ends a phase that reads and writes the given number of bytes, as modelled.
func (b *Job) Phase(name string, bytes int64) {
	b.Report.Bytes += bytes
	if !b.Join.Phases || len(b.phases) == maxMarks-2 {
		return
	}
	b.phases = append(b.phases, Phase{Name: name, Bytes: bytes})
	b.Do(func() error { return b.stream.Record(b.scratch.marks[len(b.phases)]) })
}

// Model says how many bytes phases read and write, by name, if that is known only when
// the join has ended. Such phases are queued with 0 bytes.
func (b *Job) Model(bytes map[string]int64) {
	for _, n := range bytes {
		b.Report.Bytes += n
	}
	for i := range b.phases {
		b.phases[i].Bytes = bytes[b.phases[i].Name]
	}
}

// Rows waits for all queued work and returns the row count stored at the address.
func (b *Job) Rows(ctx context.Context, at uint64) (int64, error) {
	var rows [1]uint64
	err := b.Read(ctx, at, rows[:])
	return int64(rows[0]), err
}

// Read waits for all queued work and reads up to 8 words from the address. The join's
// time ends with the last call.
func (b *Job) Read(ctx context.Context, at uint64, words []uint64) error {
	if !b.reading {
		b.QueueRead(at, len(words))
	}
	b.reading = false
	b.Do(func() error { b.Report.Syncs++; return b.stream.SyncSpinning(ctx, b.Spin) })
	if b.err != nil {
		return b.err
	}
	b.scratch.staging.empty()
	copy(words, b.scratch.words.Words())
	return nil
}

// QueueRead queues what Read does before it waits. Read, which follows, gets the same address
// and number of words.
func (b *Job) QueueRead(at uint64, words int) {
	b.copyOut(at, words)
	if b.ReadBack != "" {
		b.Phase(b.ReadBack, 0)
	}
	b.Do(func() error { return b.stream.Record(b.scratch.marks[maxMarks-1]) })
	b.reading = true
}

// Peek queues a read of up to 8 words, which Peeked returns. Peeked does not wait for
// work that is queued in between.
func (b *Job) Peek(at uint64, n int) {
	b.copyOut(at, n)
	b.Do(func() error { return b.stream.Record(b.scratch.ready) })
}

// Peeked waits for the words of Peek, without leaving the processor.
func (b *Job) Peeked(ctx context.Context) ([]uint64, error) {
	if b.err != nil {
		return nil, b.err
	}
	b.Report.Syncs++
	return b.scratch.words.Words(), b.scratch.ready.Spin(ctx)
}

func (b *Job) copyOut(at uint64, words int) {
	host := b.scratch.words.Bytes()[:8*words]
	b.Do(func() error { return b.stream.CopyOut(host, driver.Ptr(at)) })
}

// times computes the report's times from the phase marks.
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
