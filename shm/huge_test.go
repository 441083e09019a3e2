package shm

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// faults returns the page faults of the calling thread so far.
func faults(t *testing.T) int64 {
	t.Helper()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &r); err != nil {
		t.Fatal(err)
	}
	return r.Minflt
}

// TestMemfdHugePages: mapping a new extent costs one fault per huge page, and the pages
// read as zeros.
func TestMemfdHugePages(t *testing.T) {
	const size = 16 << 20
	probe, err := unix.MemfdCreate("probe", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(probe)
	if err := unix.Ftruncate(probe, size); err != nil {
		t.Fatal(err)
	}
	if err := makeHuge(probe, size); err != nil {
		t.Skip("no huge pages here: ", err)
	}
	fd, err := CreateMemfd(size)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	b, err := reserve(size, unix.PROT_NONE)
	if err != nil {
		t.Fatal(err)
	}
	defer Unmap(b)
	if err := mapAt(b, fd, 0); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := faults(t)
	for at := 0; at < size; at += 4096 {
		if b[at] != 0 {
			t.Fatalf("byte %d is %d", at, b[at])
		}
		b[at] = 1
	}
	// Twice the number of huge pages, plus the faults of the Go runtime.
	if n := faults(t) - before; n > 2*size/hugePage+100 {
		t.Errorf("%d page faults in %d huge pages", n, size/hugePage)
	}
}

// TestMemfdAllocated: all pages of an extent are allocated, huge or not.
func TestMemfdAllocated(t *testing.T) {
	for _, size := range []int64{ExtentMinSize, 2 << 20, 8 << 20} {
		for _, off := range []int64{0, 1} { // 1: extents that do not try huge pages
			saved := hugePages.skip.Swap(off)
			fd, err := CreateMemfd(size)
			hugePages.skip.Store(saved)
			if err != nil {
				t.Fatal(err)
			}
			var st unix.Stat_t
			if err := unix.Fstat(fd, &st); err != nil {
				t.Fatal(err)
			}
			if st.Blocks*512 != size {
				t.Errorf("%d of %d bytes are allocated", st.Blocks*512, size)
			}
			if err := VerifyMemfd(fd, size); err != nil {
				t.Error(err)
			}
			unix.Close(fd)
		}
	}
}

// TestBackoff counts the attempts at an operation that always fails, then at one that
// succeeds again.
func TestBackoff(t *testing.T) {
	var b backoff
	attempts := 0
	for range 100_000 {
		if b.due() {
			attempts++
			b.note(errors.New("no"))
		}
	}
	if attempts < 50 || attempts > 150 {
		t.Errorf("%d attempts of 100000", attempts)
	}
	for !b.due() {
	}
	b.note(nil)
	for range 10 {
		if !b.due() {
			t.Fatal("left out after a success")
		}
		b.note(nil)
	}
	b.note(errors.New("no"))
	if b.due() || !b.due() {
		t.Error("one failure leaves out one attempt")
	}
}

// TestAreas: an extent takes one area of the process's address space, of which the kernel allows
// vm.max_map_count.
func TestAreas(t *testing.T) {
	const extents, size = 40, 4 << 20
	areas := func() int {
		text, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("\n"))
	}
	before := areas()
	for range extents {
		fd, err := CreateMemfd(size)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		mapping, err := MapAligned(fd, size)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := Unmap(mapping); err != nil {
				t.Error(err)
			}
		}()
	}
	if n := areas() - before; n > extents+extents/4 { // Go's runtime may map some, too
		t.Errorf("%d extents take %d areas", extents, n)
	}
}
