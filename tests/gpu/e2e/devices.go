package e2e

import (
	"context"
	"time"

	"gpujoin/tests/harness"
)

// patience is the time limit for a worker to become ready.
const patience = time.Minute

// whyNoDevice waits until the session's daemon has a GPU for joins, or returns
// the reason why it has none.
func whyNoDevice(ctx context.Context, s *harness.Session) (string, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		r, err := s.Query(ctx, `select state, coalesce(reason, state) from gpujoin.devices where provider = 'cuda' order by state <> 'ready', device limit 1`)
		if err != nil {
			return "", err
		}
		if len(r.Rows) == 0 {
			return "the daemon knows no CUDA device", nil
		}
		state, reason := split(r.Rows[0])
		switch {
		case state == "ready":
			return "", nil
		case state == "absent" || state == "broken" || time.Now().After(deadline):
			return reason, nil
		}
	}
}
