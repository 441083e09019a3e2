package shm

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

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
