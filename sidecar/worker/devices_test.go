package worker

import (
	"errors"
	"testing"

	"gpujoin/sidecar/executor"
)

// TestReason: what a ready device does without is said only while it is ready.
func TestReason(t *testing.T) {
	r := &Remote{state: executor.StateReady, devices: []executor.Device{{Name: "A", Reason: "staged"}, {Name: "B"}}}
	for _, c := range []struct {
		state string
		why   error
		want  [2]string
	}{
		{executor.StateReady, nil, [2]string{"staged", ""}},
		{executor.StateStarting, nil, [2]string{"", ""}},
		{executor.StateWaiting, errors.New("it died"), [2]string{"it died", "it died"}},
	} {
		r.state, r.reason = c.state, c.why
		if d := r.Devices(); d[0].Reason != c.want[0] || d[1].Reason != c.want[1] {
			t.Errorf("%s: %q, %q", c.state, d[0].Reason, d[1].Reason)
		}
	}
}
