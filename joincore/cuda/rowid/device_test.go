//go:build cuda

package rowid

import (
	"context"
	"math/rand/v2"
	"testing"
	"unsafe"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
	"gpujoin/testsupport/columnartest"
)

// The tests need a GPU. They run from a binary: go test -c -tags cuda. With -test.short
// they launch every kernel on little data, because compute-sanitizer slows kernels down
// a hundredfold.

// rig is a queue with helpers that move test data.
type rig struct {
	testing.TB
	*Queue
	ctx     context.Context
	context *driver.Context
	window  *driver.Host
	rand    *rand.Rand
}

// newRig makes a queue over an arena full of poison.
func newRig(t testing.TB, arenaBytes int64) *rig {
	t.Helper()
	fatal := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := driver.Open(0)
	fatal(err)
	k, err := Load(c, kernels.General, kernels.Aggregate)
	fatal(err)
	s, err := c.NewStream()
	fatal(err)
	a, err := c.NewArena(arenaBytes)
	fatal(err)
	q, err := k.NewQueue(s, a)
	fatal(err)
	w, err := c.Pinned(32 << 20)
	fatal(err)
	fatal(s.Memset(a.Base(), 0xa5, arenaBytes))
	t.Cleanup(func() {
		fatal(s.Close())
		fatal(w.Free())
		fatal(q.Close())
		fatal(a.Close())
		fatal(c.Close())
	})
	return &rig{TB: t, Queue: q, ctx: context.Background(), context: c, window: w, rand: columnartest.Source(t)}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// alloc takes n bytes of poisoned memory.
func (r *rig) alloc(n int64) driver.Ptr {
	r.Helper()
	p, err := r.arena.Take(n)
	r.must(err)
	r.must(r.stream.Memset(p, 0xa5, n))
	return p
}

// scoped releases what f takes of the arena.
func (r *rig) scoped(f func()) {
	mark := r.arena.Mark()
	f()
	r.arena.Rewind(mark)
}

// put copies values to the device.
func put[T any](r *rig, values []T) driver.Ptr {
	r.Helper()
	size := int64(unsafe.Sizeof(*new(T)))
	p := r.alloc(int64(len(values)) * size)
	if len(values) == 0 {
		return p
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), int64(len(values))*size)
	for at := 0; at < len(b); at += len(r.window.Bytes()) {
		n := copy(r.window.Bytes(), b[at:])
		r.must(r.stream.CopyIn(p+driver.Ptr(at), r.window.Bytes()[:n]))
		r.must(r.Sync(r.ctx))
	}
	return p
}

// get copies n values from the device.
func get[T any](r *rig, from driver.Ptr, n int64) []T {
	r.Helper()
	values := make([]T, n)
	if n == 0 {
		return values
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), n*int64(unsafe.Sizeof(values[0])))
	for at := 0; at < len(b); at += len(r.window.Bytes()) {
		part := r.window.Bytes()[:min(len(b)-at, len(r.window.Bytes()))]
		r.must(r.stream.CopyOut(part, from+driver.Ptr(at)))
		r.must(r.Sync(r.ctx))
		copy(b[at:], part)
	}
	return values
}

// random makes n random bytes.
func (r *rig) random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.rand.Uint32())
	}
	return b
}

// sizes returns row counts around multiples of warps and tiles.
func sizes() []int64 {
	if testing.Short() {
		return []int64{0, 1, 31, 32, 33, 4097}
	}
	return []int64{0, 1, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 12289, 100_003}
}

// newLongRig makes a rig, or skips the test in short mode and on devices with
// too little memory.
func newLongRig(t *testing.T, arenaBytes int64) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("a long test")
	}
	devices, err := driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if have := devices[0].Memory; have < arenaBytes+1<<30 {
		t.Skipf("wants %d bytes of device memory, there are %d", arenaBytes, have)
	}
	return newRig(t, arenaBytes)
}
