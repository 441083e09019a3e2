package shm

import (
	"errors"
	"fmt"
	"hash/fnv"
)

// Status is gj_status, the content of the status file.
type Status struct {
	Magic      uint32              `c:"magic"`
	Version    uint16              `c:"version"`
	Stopping   uint16              `c:"stopping"`
	PID        int32               `c:"pid"`
	Cores      uint32              `c:"cores"`
	ExtentSize uint64              `c:"extent_size"`
	Budget     uint64              `c:"budget"`
	BuildNS    [RatePoints]float64 `c:"build_ns"` // per row and core, build sizes 2^(10+2i) rows
	ProbeNS    [RatePoints]float64 `c:"probe_ns"`
	ColumnNS   float64             `c:"column_ns"` // one more 8-byte output column, per row
	// per row and core, grouping into 2^(4+6i) groups with one sum
	GroupNS     [GroupPoints]float64 `c:"group_ns"`
	FunctionNS  float64              `c:"function_ns"` // one more function of the group
	OperationNS float64              `c:"operation_ns"`
	ConditionNS float64              `c:"condition_ns"`
	// of one core, for the planner's rates of native plans
	CachedProbeNS float64  `c:"cached_probe_ns"`
	MemoryLoadNS  float64  `c:"memory_load_ns"`
	CachedBytes   float64  `c:"cached_bytes"`   // size up to which random accesses hit a cache
	UncachedBytes float64  `c:"uncached_bytes"` // size from which on they all miss
	DaemonVersion [32]byte `c:"daemon_version"`
	// what a backend must speak: planners do not offer a daemon of another version
	ProtocolVersion uint32 `c:"protocol_version"`
	JobVersion      uint32 `c:"job_version"`
	Processors      uint32 `c:"processors"` // that the daemon may use by its affinity and control group
	Reserved        uint32 `c:"reserved"`
	Load            Load   `c:"load"`
}

// LoadOffset returns the offset of the Load in a status file: it is at the end.
func LoadOffset() int64 { return int64(Sizeof[Status]() - Sizeof[Load]()) }

// Errors of a status file, in the order of the checks.
var (
	ErrStatusMagic   = errors.New("not a status file")
	ErrStatusVersion = errors.New("status file has a different version")
)

// DecodeStatus decodes and checks the content of a status file, except for the Load,
// which Load.Whole checks.
func DecodeStatus(b []byte) (Status, error) {
	s, rest, err := DecodePrefix[Status](b)
	switch {
	case err != nil:
		return s, err
	case s.Magic != StatusMagic:
		return s, fmt.Errorf("%w: magic %#x", ErrStatusMagic, s.Magic)
	case s.Version != LayoutVersion:
		return s, fmt.Errorf("%w: %d", ErrStatusVersion, s.Version)
	case len(rest) != 0:
		return s, fmt.Errorf("%w: %d", ErrTrailing, len(rest))
	}
	return s, nil
}

// Load is gj_load, the part of a status file that changes all the time. All zero means
// unknown.
type Load struct {
	Beats          uint64 `c:"beats"`           // writes so far
	Running        uint32 `c:"running"`         // joins with work for a thread
	Threads        uint32 `c:"threads"`         // threads that may work on joins concurrently
	Queued         uint32 `c:"queued"`          // jobs waiting for admission
	ProcessorShare uint32 `c:"processor_share"` // processor time received of that demanded, in thousandths
	AtUS           uint64 `c:"at_us"`           // CLOCK_MONOTONIC at the write, µs
	Kept           uint64 `c:"kept"`            // version of the file of kept columns; 0: there is none
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
