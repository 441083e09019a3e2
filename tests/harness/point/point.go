// Package point lets tests of faults say what they cause and what they find. make faults
// runs these tests, reads what they say from the output of go test -json, and counts.
package point

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Attributes of tests: a Point in JSON, and the first line of each finding.
const (
	Attribute        = "fault"
	WrongAttribute   = "wrong"
	LeakAttribute    = "leak"
	RestartAttribute = "restart"
)

// Point is one fault: what happens, to which process, at which moment of a query, and what
// must follow.
type Point struct {
	What    string `json:"what"`
	Process string `json:"process"`
	Moment  string `json:"moment"`
	Shape   string `json:"shape"` // of the query: a join, a block, a parallel plan, and so on
	Expect  string `json:"expect"`
	// Limit is how many seconds the point may take, with its checks and with what they
	// start again; 0: DefaultLimit.
	Limit float64 `json:"limit_s"`
}

// DefaultLimit is far below all timeouts that would end a wait by themselves, and leaves
// room for a busy machine.
const DefaultLimit = 60

// What a query may do after a fault.
const (
	AllRows  = "all rows, as the native plan returns them"
	Lost     = "error 08006 after some rows"
	LostOr   = "all rows, or error 08006 after some rows"
	Canceled = "error 57014"
)

// Announce says that a test is this point.
func (p Point) Announce(t testing.TB) {
	t.Helper()
	if p.Limit == 0 {
		p.Limit = DefaultLimit
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Attr(Attribute, string(text))
}

// Wrong fails a test because of rows that differ from the native plan's.
func Wrong(t testing.TB, format string, args ...any) {
	t.Helper()
	find(t, WrongAttribute, fmt.Sprintf(format, args...))
}

// Leak fails a test because something was not given back.
func Leak(t testing.TB, format string, args ...any) {
	t.Helper()
	find(t, LeakAttribute, fmt.Sprintf(format, args...))
}

// Restart ends a test because the server has restarted, which the test did not cause.
func Restart(t testing.TB, format string, args ...any) {
	t.Helper()
	find(t, RestartAttribute, fmt.Sprintf(format, args...))
	t.FailNow()
}

func find(t testing.TB, attribute, text string) {
	t.Helper()
	first, _, _ := strings.Cut(text, "\n")
	t.Attr(attribute, strings.TrimRight(first, "\r"))
	t.Error(text)
}
