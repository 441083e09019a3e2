package shm

import (
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Seals that every extent has: its size can never change, so that accesses to a mapping
// never fault.
const Seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// Errors of an extent's file, in the order of the checks.
var (
	ErrNotMemfd = errors.New("not a memfd")
	ErrUnsealed = errors.New("memfd is not sealed")
	ErrSize     = errors.New("memfd has the wrong size")
)

// CheckExtentSize returns an error unless extents may have size bytes.
func CheckExtentSize(size int64) error {
	if size < ExtentMinSize || size > ExtentMaxSize || size&(size-1) != 0 {
		return fmt.Errorf("extent size %d is not a power of two from 1 MiB to 1 GiB", size)
	}
	return nil
}

// CreateMemfd creates a sealed memfd of size bytes. All of them are allocated,
// so that a lack of memory is an error here and not a SIGBUS later. It uses
// huge pages if the kernel grants them: they take a third of the time to
// create, fault once per 2 MiB instead of per 4 kB in each process that maps
// them, and cause fewer TLB misses.
func CreateMemfd(size int64) (fd int, err error) {
	// MFD_NOEXEC_SEAL exists since Linux 6.3; older kernels refuse it.
	for _, flag := range []int{unix.MFD_NOEXEC_SEAL, 0} {
		fd, err = unix.MemfdCreate("gpujoin", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|flag)
		if err != unix.EINVAL {
			break
		}
	}
	if err != nil {
		return -1, fmt.Errorf("memfd_create: %w", err)
	}
	if err = allocate(fd, size); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func allocate(fd int, size int64) error {
	if err := unix.Ftruncate(fd, size); err != nil {
		return fmt.Errorf("ftruncate: %w", err)
	}
	if size >= hugePage && hugePages.due() {
		hugePages.note(makeHuge(fd, size))
	}
	if err := retry(func() error { return unix.Fallocate(fd, 0, 0, size) }); err != nil {
		return fmt.Errorf("fallocate: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, Seals); err != nil {
		return fmt.Errorf("F_ADD_SEALS: %w", err)
	}
	return nil
}

// retry repeats f while signals interrupt it.
func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

// VerifyMemfd returns an error unless fd, received from a peer, is a sealed memfd of
// exactly size bytes. Callers verify before they map.
func VerifyMemfd(fd int, size int64) error {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotMemfd, err)
	}
	if seals&Seals != Seals {
		return fmt.Errorf("%w: seals %#x", ErrUnsealed, seals)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("fstat: %w", err)
	}
	if st.Size != size {
		return fmt.Errorf("%w: %d bytes, %d expected", ErrSize, st.Size, size)
	}
	return nil
}

// MapAligned maps an extent that CreateMemfd created or VerifyMemfd accepted: with all pages
// present, and aligned so that huge pages are mapped as such. Pass all of it to Unmap.
func MapAligned(fd int, size int64) ([]byte, error) {
	b, err := reserve(int(size), unix.PROT_NONE)
	if err != nil {
		return nil, err
	}
	if err := mapAt(b, fd, unix.MAP_POPULATE); err != nil {
		_ = Unmap(b) // the mapping made above
		return nil, fmt.Errorf("mmap: %w", err)
	}
	return b, nil
}

// reserve maps n private bytes, aligned to a huge page if n is at least as large. It unmaps
// the slack before and after them: vm.max_map_count limits a process's separate mappings.
func reserve(n, protection int) ([]byte, error) {
	slack := 0
	if n >= hugePage {
		slack = hugePage
	}
	mapping, err := mapPages(-1, n+slack, protection, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	from := 0
	if slack != 0 {
		from = (hugePage - int(misalignment(mapping, hugePage))) % hugePage
	}
	for _, around := range [][]byte{mapping[:from], mapping[from+n:]} {
		if len(around) > 0 {
			_ = Unmap(around) // a part of the mapping made above
		}
	}
	return mapping[from : from+n : from+n], nil
}

// MapPrivate returns n bytes of zeroed private memory, in huge pages if the kernel
// grants them. Pass all of it to Unmap.
func MapPrivate(n int) ([]byte, error) {
	b, err := reserve(n, unix.PROT_READ|unix.PROT_WRITE)
	if err == nil && n >= hugePage {
		// The kernel refuses if it has no huge pages; small ones work as well.
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
	return b, err
}

// hugePage is the size and alignment of huge pages.
const hugePage = 2 << 20

// makeHuge fills an empty memfd with huge pages, whatever the system's default is. It
// allocates the first small page of each, because MADV_COLLAPSE refuses a range without
// any, and then collapses it with the hole after it. No page is zeroed twice. It needs
// Linux 6.1 and free huge pages.
func makeHuge(fd int, size int64) error {
	for at := int64(0); at < size; at += hugePage {
		if err := retry(func() error { return unix.Fallocate(fd, 0, at, 4096) }); err != nil {
			return fmt.Errorf("fallocate: %w", err)
		}
	}
	b, err := reserve(int(size), unix.PROT_NONE)
	if err != nil {
		return err
	}
	defer func() { _ = Unmap(b) }() // the mapping made above
	if err := mapAt(b, fd, 0); err != nil {
		return fmt.Errorf("mmap: %w", err)
	}
	if err := unix.Madvise(b, unix.MADV_COLLAPSE); err != nil {
		return fmt.Errorf("MADV_COLLAPSE: %w", err)
	}
	return nil
}

// backoff spaces attempts at an operation that keeps failing: a kernel without support
// or free huge pages is not made to search for them for each extent.
type backoff struct {
	skip atomic.Int64 // attempts to skip
	last atomic.Int64 // attempts skipped after the last failure
}

// hugePages decides when to try huge pages for a memfd.
var hugePages backoff

// mostSkipped bounds the attempts skipped in a row.
const mostSkipped = 1024

// due reports whether to try.
func (b *backoff) due() bool { return b.skip.Load() <= 0 || b.skip.Add(-1) < 0 }

// note records the outcome of an attempt.
func (b *backoff) note(err error) {
	if err == nil {
		b.last.Store(0)
		return
	}
	n := min(max(2*b.last.Load(), 1), mostSkipped)
	b.last.Store(n)
	b.skip.Store(n)
}
