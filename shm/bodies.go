package shm

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Hello is gj_hello, the first message of a backend.
type Hello struct {
	ProtocolVersion  uint32 `c:"protocol_version"`
	LayoutVersion    uint32 `c:"layout_version"`
	LeaderPID        int32  `c:"leader_pid"` // of the parallel group, or the process's own
	Database         uint32 `c:"database"`
	SystemIdentifier uint64 `c:"system_identifier"`
}

// Welcome is gj_welcome, the answer to Hello.
type Welcome struct {
	ProtocolVersion uint32   `c:"protocol_version"`
	LayoutVersion   uint32   `c:"layout_version"`
	ExtentSize      uint64   `c:"extent_size"` // bytes of every extent
	PID             int32    `c:"pid"`
	Reserved        uint32   `c:"reserved"`
	Version         [32]byte `c:"version"` // NUL-terminated
}

// Text returns the bytes of b before its first NUL.
func Text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// PutText copies s into b, truncated so that b ends with a NUL. It replaces characters
// other than printable ASCII by question marks, because the reader's encoding is
// unknown.
func PutText(b []byte, s string) {
	clear(b)
	n := 0
	for _, r := range s {
		if n == len(b)-1 {
			break
		}
		b[n] = '?'
		if r >= ' ' && r <= '~' {
			b[n] = byte(r)
		}
		n++
	}
}

// Open is gj_open; the job as JSON follows it.
type Open struct {
	QueueTimeoutMS uint32 `c:"queue_timeout_ms"` // 0: refuse instead of queueing
	Flags          uint32 `c:"flags"`            // OpenRewind
	Participants   uint32 `c:"participants"`     // planned, leader included
	JSONLength     uint32 `c:"json_length"`
	Participant    int32  `c:"participant"` // ParallelWorkerNumber; leader is -1
	Role           uint32 `c:"role"`        // OID of the session's user
	RoleShare      uint32 `c:"role_share"`  // of the memory budget: 0 to WholeShare
	Reserved       uint32 `c:"reserved"`
}

// Attach is gj_attach: a process becomes a participant of a job that another
// one opened.
type Attach struct {
	Job         uint64          `c:"job"`
	Token       [TokenSize]byte `c:"token"`
	Participant int32           `c:"participant"` // ParallelWorkerNumber; leader is -1
	Reserved    uint32          `c:"reserved"`
}

// Admitted is gj_admitted, the answer to Open and Attach.
type Admitted struct {
	Job           uint64          `c:"job"`
	Token         [TokenSize]byte `c:"token"`
	ReservedBytes uint64          `c:"reserved_bytes"`
	QueueUS       uint64          `c:"queue_us"`
}

// Want is gj_want: the backend requests extents to fill.
type Want struct {
	Count    uint32 `c:"count"` // 1 .. FrameMaxFDs
	Reserved uint32 `c:"reserved"`
}

// Grant is gj_grant, the answer to Want, with Count file descriptors.
type Grant struct {
	Count    uint32              `c:"count"`
	Reserved uint32              `c:"reserved"`
	Extents  [FrameMaxFDs]uint64 `c:"extents"`
}

// Filled is gj_filled: an extent holds a batch of an input and is unmapped.
type Filled struct {
	Extent uint64 `c:"extent"`
	Input  uint32 `c:"input"`
	Rows   uint32 `c:"rows"` // > 0; equals Batch.Rows
}

// ChainFilled is gj_chain_filled: an extent of the participant's chain holds
// data and is unmapped.
type ChainFilled struct {
	Extent   uint64 `c:"extent"`
	Chain    uint64 `c:"chain"` // equals ChainHeader.Chain
	Bytes    uint32 `c:"bytes"` // equals ChainHeader.Bytes
	Reserved uint32 `c:"reserved"`
}

// Fed is gj_fed: the participant has handed over all of its rows.
type Fed struct {
	Rows   uint64 `c:"rows"`
	Bytes  uint64 `c:"bytes"`
	FeedUS uint64 `c:"feed_us"` // wall time, waits included
	WaitUS uint64 `c:"wait_us"` // part of FeedUS: waiting for extents
}

// Run is gj_run: every participant has fed its rows.
type Run struct {
	Generation uint32 `c:"generation"` // 1, 2, ...: increases with each rewind
	Reserved   uint32 `c:"reserved"`
}

// Next is gj_next: send the participant Count more result batches.
type Next struct {
	Count    uint32 `c:"count"`
	Reserved uint32 `c:"reserved"`
}

// Result is gj_result, one result batch, with one file descriptor.
type Result struct {
	Extent   uint64 `c:"extent"`
	Rows     uint32 `c:"rows"`
	Reserved uint32 `c:"reserved"`
}

// Release is gj_release: the extent is unmapped.
type Release struct {
	Extent uint64 `c:"extent"`
}

// ChainGet is gj_chain_get: send an extent of a chain.
type ChainGet struct {
	Chain uint64 `c:"chain"`
}

// ChainExtent is gj_chain_extent, the answer to ChainGet, with one file
// descriptor.
type ChainExtent struct {
	Extent   uint64 `c:"extent"`
	Chain    uint64 `c:"chain"`
	Bytes    uint32 `c:"bytes"` // equals ChainHeader.Bytes
	Reserved uint32 `c:"reserved"`
}

// Returned is gj_returned: the participant's costs of returning rows.
type Returned struct {
	Rows     uint64 `c:"rows"`
	ReturnUS uint64 `c:"return_us"`
}

// Failure is the reason for which the daemon cannot continue a job.
type Failure uint32

const (
	FailProtocol    Failure = iota + 1 // malformed frame or extent
	FailVersion                        // other protocol or layout version
	FailUnsupported                    // the daemon does not support a part of the job
	FailBusy                           // queue timeout, or the job would have to queue
	FailBudget                         // the job needs more memory than it may use
	FailProvider                       // the join failed
	FailStopping                       // the daemon is stopping
	FailInternal
	FailArithmetic // a value is out of range, not a number, or divided by zero
	FailShare      // the role's share of the memory is in use
	FailResources  // the system has no more descriptors, mappings or memory
	FailSource     // a foreign server failed
)

var failureNames = [...]string{
	"", "protocol", "version", "unsupported", "busy", "budget", "provider", "stopping", "internal", "arithmetic", "share", "resources", "source",
}

// FailureNames returns the names of all failures.
func FailureNames() []string { return slices.Clone(failureNames[1:]) }

func (f Failure) String() string {
	if f >= 1 && int(f) < len(failureNames) {
		return failureNames[f]
	}
	return fmt.Sprintf("failure %d", uint32(f))
}

// Failed is gj_failed; Length bytes of text follow it.
type Failed struct {
	Code   Failure `c:"code"`
	Length uint32  `c:"length"`

	// SQLState is the SQLSTATE of FailSource: five characters, then zeros.
	SQLState [8]byte `c:"sqlstate"`
}

// AppendFailed appends a FAILED message, with the text cut to MaxText bytes at a
// character boundary. The SQLSTATE is that of FailSource, "" for other codes.
func AppendFailed(dst []byte, code Failure, sqlstate, text string) []byte {
	if len(text) > MaxText {
		n := MaxText
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	start := len(dst)
	failed := Failed{Code: code, Length: uint32(len(text))}
	PutText(failed.SQLState[:], sqlstate)
	dst = Append(BeginFrame(dst, MsgFailed, 0), &failed)
	dst = append(dst, text...)
	FinishFrame(dst, start)
	return dst
}

// DecodeFailed returns the code and the text of a FAILED body.
func DecodeFailed(body []byte) (Failure, string, error) {
	f, rest, err := DecodePrefix[Failed](body)
	if err != nil {
		return 0, "", err
	}
	if int64(f.Length) != int64(len(rest)) {
		return 0, "", fmt.Errorf("%w: text of %d bytes in %d", ErrShort, f.Length, len(rest))
	}
	return f.Code, string(rest), nil
}
