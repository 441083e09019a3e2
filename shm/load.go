package shm

import "hash/fnv"

// Load is gj_load, the part of a status file that changes all the time. All zero means
// unknown.
type Load struct {
	Beats          uint64 `c:"beats"`           // writes so far
	Running        uint32 `c:"running"`         // joins with work for a thread
	Threads        uint32 `c:"threads"`         // threads that may work on joins concurrently
	Queued         uint32 `c:"queued"`          // jobs waiting for admission
	ProcessorShare uint32 `c:"processor_share"` // processor time received of that demanded, in thousandths
	AtUS           uint64 `c:"at_us"`           // CLOCK_MONOTONIC at the write, µs
	Check          uint64 `c:"check"`           // sum of the bytes before it
}

// Seal returns l with its check set.
func (l Load) Seal() Load {
	l.Check = l.sum()
	return l
}

// Whole reports whether all bytes of l are from the same write. If not, the reader must
// read again.
func (l *Load) Whole() bool { return l.Check == l.sum() }

func (l *Load) sum() uint64 {
	b := Append(nil, l)
	h := fnv.New64a()
	h.Write(b[:len(b)-8]) // a hash never fails
	return h.Sum64()
}
