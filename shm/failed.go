package shm

import (
	"fmt"
	"unicode/utf8"
)

// Failure says why the daemon cannot go on with a job.
type Failure uint32

const (
	FailProtocol    Failure = iota + 1 // malformed frame or extent
	FailVersion                        // other protocol or layout version
	FailUnsupported                    // the job asks for what we do not do
	FailBusy                           // queue timeout, or would have to queue
	FailBudget                         // needs more memory than it may have
	FailProvider                       // the join itself failed
	FailStopping                       // graceful stop under way
	FailInternal
)

var failureNames = [...]string{
	"", "protocol", "version", "unsupported", "busy", "budget", "provider", "stopping", "internal",
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

// AppendFailed appends a whole FAILED message, its text cut to MaxText bytes
// at a character.
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
