package shm

import (
	"fmt"
	"unicode/utf8"
)

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
)

var failureNames = [...]string{
	"", "protocol", "version", "unsupported", "busy", "budget", "provider", "stopping", "internal", "arithmetic", "share", "resources",
}

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
}

// AppendFailed appends a FAILED message, with the text cut to MaxText bytes at a
// character boundary.
func AppendFailed(dst []byte, code Failure, text string) []byte {
	if len(text) > MaxText {
		n := MaxText
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	start := len(dst)
	dst = Append(BeginFrame(dst, MsgFailed, 0), &Failed{Code: code, Length: uint32(len(text))})
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
