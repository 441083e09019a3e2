package links

import (
	"encoding/binary"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// MapHost maps n bytes of a shared memfd, as the daemon maps its extents.
func MapHost(n int64) ([]byte, error) {
	fd, err := unix.MemfdCreate("gpujoin-bench", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, n); err != nil {
		return nil, fmt.Errorf("memfd of %d bytes: %w", n, err)
	}
	b, err := unix.Mmap(fd, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes: %w", n, err)
	}
	return b, nil
}

// inThreads calls work for page-aligned parts of [0, n) on that many threads.
func inThreads(n, threads int, work func(low, high int)) {
	const page = 4096
	part := max((n+threads-1)/threads, 1<<16)
	part = (part + page - 1) / page * page
	var wait sync.WaitGroup
	for low := 0; low < n; low += part {
		wait.Go(func() { work(low, min(low+part, n)) })
	}
	wait.Wait()
}

// Multipliers of the hash, equal to those of the kernel transfer_sum.
const (
	hashPosition = 0x9e3779b97f4a7c15
	hashFirst    = 0xbf58476d1ce4e5b9
	hashSecond   = 0x94d049bb133111eb
)

// hashWord hashes a word and its position.
func hashWord(word, i uint64) uint64 {
	h := (word + i*hashPosition) * hashFirst
	h = (h ^ h>>31) * hashSecond
	return h ^ h>>29
}

// fillHost generates all words of b; equal seeds give equal words.
func fillHost(b []byte, seed uint64, threads int) {
	inThreads(len(b), threads, func(low, high int) {
		for i := low; i < high; i += 8 {
			binary.LittleEndian.PutUint64(b[i:], hashWord(seed, uint64(i)))
		}
	})
}

// poison changes every byte of b.
func poison(b []byte, threads int) {
	inThreads(len(b), threads, func(low, high int) {
		part := b[low:high]
		part[0] = 0xff
		for n := 1; n < len(part); n *= 2 {
			copy(part[n:], part[:n])
		}
	})
}

// sumHost returns what the kernel transfer_sum computes for the same bytes.
func sumHost(b []byte, threads int) uint64 {
	var mu sync.Mutex
	var total uint64
	inThreads(len(b), threads, func(low, high int) {
		var part uint64
		for i := low; i < high; i += 8 {
			part += hashWord(binary.LittleEndian.Uint64(b[i:]), uint64(i/8))
		}
		mu.Lock()
		defer mu.Unlock()
		total += part
	})
	return total
}
