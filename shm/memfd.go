package shm

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Seals that every extent carries: its size is fixed for ever, so that a
// mapping never faults.
const Seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// Errors of an extent's file, in the order in which it is checked.
var (
	ErrNotMemfd = errors.New("not a memfd")
	ErrUnsealed = errors.New("memfd without seals")
	ErrSize     = errors.New("memfd of another size")
)

// CheckExtentSize says whether extents may have size bytes.
func CheckExtentSize(size int64) error {
	if size < ExtentMinSize || size > ExtentMaxSize || size&(size-1) != 0 {
		return fmt.Errorf("extent size %d is not a power of two from 1 MiB to 1 GiB", size)
	}
	return nil
}

// CreateMemfd makes a sealed memfd of size bytes, all of them allocated, so
// that lack of memory shows here and not as SIGBUS. Its pages are huge ones
// where the kernel grants them: those cost a third to create, and whoever maps
// them, here or in a backend, takes a fault for each of them and not for each
// 4 kB, and misses the TLB less.
func CreateMemfd(size int64) (fd int, err error) {
	// MFD_NOEXEC_SEAL appeared in Linux 6.3; older kernels refuse it.
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

// retry repeats what a signal interrupted.
func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

// VerifyMemfd says whether fd, which came from a peer, is a sealed memfd of
// exactly size bytes. Nothing may be mapped before.
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

// MapMemfd maps an extent that CreateMemfd made or VerifyMemfd accepted.
func MapMemfd(fd int, size int64) ([]byte, error) {
	b, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	return b, nil
}

// MapAligned maps an extent for good: present at once, and at an address that
// lets huge pages be mapped as such. mapping is what to hand to Unmap.
func MapAligned(fd int, size int64) (b, mapping []byte, err error) {
	b, mapping, err = reserve(int(size), unix.PROT_NONE)
	if err != nil {
		return nil, nil, err
	}
	if err := mapAt(b, fd, unix.MAP_POPULATE); err != nil {
		_ = unix.Munmap(mapping) // of what was just mapped
		return nil, nil, fmt.Errorf("mmap: %w", err)
	}
	return b, mapping, nil
}

// Unmap ends a mapping.
func Unmap(mapping []byte) error { return unix.Munmap(mapping) }

// reserve maps n private bytes, aligned to huge pages if they are as many.
func reserve(n, protection int) (b, mapping []byte, err error) {
	slack := 0
	if n >= hugePage {
		slack = hugePage
	}
	mapping, err = unix.Mmap(-1, 0, n+slack, protection, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, nil, fmt.Errorf("mmap: %w", err)
	}
	from := 0
	if slack != 0 {
		from = (hugePage - int(misalignment(mapping, hugePage))) % hugePage
	}
	return mapping[from : from+n : from+n], mapping, nil
}

// MapPrivate returns n bytes of zeroed private memory, in huge pages where
// the kernel grants them, and the mapping to hand to Unmap.
func MapPrivate(n int) (b, mapping []byte, err error) {
	b, mapping, err = reserve(n, unix.PROT_READ|unix.PROT_WRITE)
	if err == nil && n >= hugePage {
		// Refused where the kernel has no huge pages; small ones do as well.
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
	return b, mapping, err
}
