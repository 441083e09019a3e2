package fault

import (
	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// end is the expected outcome of a statement whose daemon dies in a phase.
type end int

const (
	rightRows end = iota // all of them, from the native plan or the daemon
	anError              // because rows had been returned
	either               // one of the two, depending on the messages in flight
)

func (e end) String() string {
	return [...]string{rightRows: point.AllRows, anError: point.Lost, either: point.LostOr}[e]
}

// phase is a point in a job's life: the nth frame of a type is in transit.
type phase struct {
	name string
	msg  int
	nth  int
	// serial is the outcome if the frame is delivered after the daemon's death,
	// cut if it is lost with the daemon; parallel is that of a parallel node,
	// which cannot run natively once its outcome is known.
	serial, cut, parallel end
}

// phases are those of the job of theJoin.
var phases = []phase{
	{"hello", harness.MsgHello, 1, rightRows, rightRows, rightRows},
	{"welcome", harness.MsgWelcome, 1, rightRows, rightRows, rightRows},
	{"open", harness.MsgOpen, 1, rightRows, rightRows, rightRows},
	{"queue", harness.MsgAdmitted, 1, rightRows, rightRows, rightRows},
	{"first want", harness.MsgWant, 1, rightRows, rightRows, rightRows},
	{"grant", harness.MsgGrant, 1, rightRows, rightRows, rightRows},
	{"mid feed", harness.MsgFilled, 2, rightRows, rightRows, rightRows},
	{"fed", harness.MsgFed, 1, rightRows, rightRows, rightRows},
	{"fed ok", harness.MsgFedOK, 1, rightRows, rightRows, rightRows},
	{"run", harness.MsgRun, 1, rightRows, rightRows, rightRows},
	{"running", harness.MsgRunning, 1, rightRows, rightRows, either},
	{"first next", harness.MsgNext, 1, rightRows, rightRows, either},
	{"first result", harness.MsgResult, 1, either, rightRows, either},
	{"mid result", harness.MsgResult, 3, anError, anError, either},
	{"release", harness.MsgRelease, 3, anError, anError, either},
	{"end", harness.MsgEnd, 1, either, anError, either},
}
