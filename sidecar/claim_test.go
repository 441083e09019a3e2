package sidecar

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestClaim lets a second daemon come before the first one listens.
func TestClaim(t *testing.T) {
	o := testOptions(t)
	claim, err := ClaimSocket(o.Socket)
	must(t, err)
	refused(t, o.Socket, ".lock")
	claim.Release()
	claim, err = ClaimSocket(o.Socket)
	must(t, err)
	o.Claim = claim
	o.MemoryBudget = 1
	if _, err := Start(o, testBackend(nil)); err == nil {
		t.Fatal("a budget of one byte is served")
	}
	must(t, serveAt(t, o.Socket)) // what fails to start gives its claim up
}

// refused expects that the socket cannot be claimed again, and that the error names
// this process and the sign that it serves.
func refused(t *testing.T, path, trace string) {
	t.Helper()
	err := serveAt(t, path)
	if !errors.Is(err, ErrSocketTaken) || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", os.Getpid())) ||
		!strings.Contains(err.Error(), trace) {
		t.Errorf("%v", err)
	}
}

// TestClaimSurvives deletes files of a daemon that serves. A second one is
// refused for what is left of them, until the first has put them back.
func TestClaimSurvives(t *testing.T) {
	for _, c := range []struct {
		name    string
		deleted []string
		trace   string
	}{
		{"the lock", []string{".lock"}, "listens"},
		{"lock and status file", []string{".lock", ".status"}, "listens"},
		{"lock and socket", []string{".lock", ""}, ".status"},
		{"socket and status file", []string{".status", ""}, ".lock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, nil, nil)
			// No file comes back while the claim is tried.
			r.srv.socket.mu.Lock()
			r.srv.status.mu.Lock()
			for _, suffix := range c.deleted {
				must(t, os.Remove(r.path+suffix))
			}
			refused(t, r.path, c.trace)
			r.srv.status.mu.Unlock()
			r.srv.socket.mu.Unlock()
			r.eventually("all files are back", func() (bool, string) {
				err := statusHeld(r.path + ".status")
				claim := r.srv.options.Claim
				claim.mu.Lock()
				defer claim.mu.Unlock()
				if errors.Is(err, ErrSocketTaken) && leadsTo(r.path+".lock", claim.lock) {
					_, err = os.Lstat(r.path)
					return err == nil, fmt.Sprint(err)
				}
				return false, fmt.Sprint(err)
			})
			refused(t, r.path, ".lock")
		})
	}
}
