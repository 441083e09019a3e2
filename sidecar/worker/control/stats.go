package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gpujoin/joincore"
)

// Limits of what a peer may report. Longer lists and texts are cut.
const (
	maxName    = 64  // bytes of a name
	maxReason  = 256 // bytes of a reason
	maxPhases  = 64  // of a join
	maxDevices = 64  // that have executed a join or a plan
)

// Statistics returns the statistics of a plan with the given numbers of joins and
// aggregates. It drops statistics of further ones. ok is false if there are none, or
// if they are malformed.
func (d *Done) Statistics(joins, aggregates int) (s joincore.Stats, ok bool) {
	if json.Unmarshal(d.GetStats(), &s) != nil {
		return joincore.Stats{}, false
	}
	s.Provider, s.Alone = clip(s.Provider, maxName), clip(s.Alone, maxReason)
	s.Strategy, s.StrategyReason = clip(s.Strategy, maxName), clip(s.StrategyReason, maxReason)
	s.JoinTime, s.Predicted, s.Met, s.Waited = positive(s.JoinTime), positive(s.Predicted), positive(s.Met), positive(s.Waited)
	s.Devices, s.Sent, s.Hops = devices(s.Devices), max(s.Sent, 0), max(s.Hops, 0)
	s.Joins = s.Joins[:min(len(s.Joins), joins)]
	for i := range s.Joins {
		limitJoin(&s.Joins[i])
	}
	s.Aggregates = s.Aggregates[:min(len(s.Aggregates), aggregates)]
	for i := range s.Aggregates {
		a := &s.Aggregates[i]
		a.Strategy, a.Time = clip(a.Strategy, maxName), positive(a.Time)
	}
	return s, true
}

func limitJoin(j *joincore.JoinStats) {
	j.Algorithm, j.Reason = clip(j.Algorithm, maxName), clip(j.Reason, maxReason)
	j.Time, j.Devices = positive(j.Time), devices(j.Devices)
	j.Phases = j.Phases[:min(len(j.Phases), maxPhases)]
	for i := range j.Phases {
		p := &j.Phases[i]
		p.Name, p.Predicted, p.Actual = clip(p.Name, maxName), positive(p.Predicted), positive(p.Actual)
	}
}

func devices(n int) int { return min(max(n, 0), maxDevices) }

// positive returns a peer's time; negative times become 0.
func positive(d time.Duration) time.Duration { return max(d, 0) }

func clip(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "?")
}

// Errors of a run that the worker reports.
var (
	// ErrDevice reports that the device no longer works. The worker exits.
	ErrDevice = errors.New("device lost")
	// ErrRefused reports that the daemon did not grant a requested batch.
	ErrRefused = errors.New("no batch was granted")
)

// failures translates errors; the first match counts.
var failures = []struct {
	err  error
	code Failure
}{
	{ErrDevice, Failure_FAILURE_DEVICE},
	{ErrRefused, Failure_FAILURE_REFUSED},
	{context.Canceled, Failure_FAILURE_CANCELLED},
	{joincore.ErrRowTooWide, Failure_FAILURE_ROW_TOO_WIDE},
	{joincore.ErrBudget, Failure_FAILURE_BUDGET},
	{joincore.ErrUnsupported, Failure_FAILURE_UNSUPPORTED},
	{joincore.ErrInvalid, Failure_FAILURE_INVALID},
	{joincore.ErrArithmetic, Failure_FAILURE_ARITHMETIC},
}

// maxText is the maximum length of an error's text, in bytes.
const maxText = 1000

// EncodeDone returns the message that reports the end of a run: its error, nil
// on success, and its statistics.
func EncodeDone(err error, stats *joincore.Stats) *Done {
	if err == nil {
		text, _ := json.Marshal(stats) // fails for a number that JSON cannot express; the rows count
		return &Done{Stats: text}
	}
	out := &Done{Failure: Failure_FAILURE_OTHER, Text: clip(err.Error(), maxText)}
	for _, f := range failures {
		if errors.Is(err, f.err) {
			out.Failure = f.code
			break
		}
	}
	return out
}

// remoteError is an error of the worker: its text and the local error that it
// maps to.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

// Err returns the error with which the run ended, or nil.
func (d *Done) Err() error {
	if d.GetFailure() == Failure_FAILURE_NONE {
		return nil
	}
	text, _, _ := strings.Cut(d.GetText(), "\n")
	text = clip(text, maxText)
	for _, f := range failures {
		if f.code == d.GetFailure() {
			return &remoteError{text, f.err}
		}
	}
	return fmt.Errorf("the worker failed: %s", text)
}
