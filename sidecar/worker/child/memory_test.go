package child

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/shm"
)

// TestMemory: allocations are booked in steps, and refused where booking is.
func TestMemory(t *testing.T) {
	var asked []int64
	limit := int64(40 << 20)
	m := newMemory(func(n int64) error {
		asked = append(asked, n)
		if limit -= n; limit < 0 {
			limit += n
			return joincore.ErrBudget
		}
		return nil
	})
	var blocks [][]byte
	for _, n := range []int64{1, 100, 20 << 20, 15 << 20} {
		b, err := m.Alloc(n)
		if err != nil || int64(len(b)) != n || shm.Address(b)%64 != 0 {
			t.Fatalf("%d bytes: %d, %v", n, len(b), err)
		}
		b[0], b[n-1] = 1, 2
		blocks = append(blocks, b)
	}
	if want := []int64{16 << 20, 16 << 20, 16 << 20, 3<<20 + 2*pageSize}; !slices.Equal(asked, want) {
		t.Errorf("asked for %d", asked)
	}
	for _, n := range []int64{16 << 20, -1, 1 << 62} {
		if b, err := m.Alloc(n); err == nil {
			t.Errorf("%d bytes of %d", len(b), n)
		}
	}
	if b, err := m.Alloc(0); err != nil || len(b) != 0 {
		t.Error(b, err)
	} else {
		m.Free(b)
	}
	for _, b := range blocks[:3] {
		m.Free(b)
	}
	if n := m.Close(); n != 1 || m.Used() != 0 || m.Peak() != 35<<20+2*pageSize || m.Limit() != m.Peak() {
		t.Errorf("%d blocks were left", n)
	}
	defer func() {
		if recover() == nil {
			t.Error("freed twice")
		}
	}()
	m.Free(blocks[0])
}

// TestMemoryHasNoPagesBeforeItIsTouched: what a provider is granted, and takes
// elsewhere, is not there twice.
func TestMemoryHasNoPagesBeforeItIsTouched(t *testing.T) {
	resident := func() int64 {
		text, err := os.ReadFile("/proc/self/statm")
		if err != nil {
			t.Fatal(err)
		}
		var size, pages int64
		if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
			t.Fatal(err)
		}
		return pages * pageSize
	}
	m := newMemory(func(int64) error { return nil })
	before := resident()
	const bytes = 512 << 20
	b, err := m.Alloc(bytes)
	if err != nil {
		t.Fatal(err)
	}
	if n := resident() - before; n > bytes/4 {
		t.Errorf("%d bytes have %d bytes of pages", bytes, n)
	}
	m.Free(b)
	if n := m.Close(); n != 0 {
		t.Errorf("%d blocks were left", n)
	}
}
