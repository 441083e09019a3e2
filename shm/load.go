package shm

import "hash/fnv"

// Load is gj_load, the part of a status file that changes all the time. All
// zero: unknown.
type Load struct {
	Beats          uint64 `c:"beats"`           // writes so far
	Running        uint32 `c:"running"`         // joins that have work to do for a thread
	Threads        uint32 `c:"threads"`         // that may work on joins at a time
	Queued         uint32 `c:"queued"`          // jobs that wait to be admitted
	Runnable       uint32 `c:"runnable"`        // tasks of the machine that run or wait for a processor, in hundredths
	ProcessorShare uint32 `c:"processor_share"` // got of the processor time that was asked for, in thousandths
	Reserved       uint32 `c:"reserved"`
	Check          uint64 `c:"check"` // sum of the bytes before it
}

// Seal returns l with the check that its other fields need.
func (l Load) Seal() Load {
	l.Check = l.sum()
	return l
}

// Whole says whether all bytes of l are of one write: false, and a read that
// has met a write must be repeated.
func (l *Load) Whole() bool { return l.Check == l.sum() }

func (l *Load) sum() uint64 {
	b := Append(nil, l)
	h := fnv.New64a()
	h.Write(b[:len(b)-8]) // a hash never fails
	return h.Sum64()
}
