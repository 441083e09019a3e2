package sqltest

import (
	"fmt"
	"os"
	"testing"

	"gpujoin/tests/harness"
)

// Main is the body of a TestMain: it prepares *env, runs the tests, and stops
// the shared world.
func Main[World any](m *testing.M, env **harness.Env, shared *Shared[World]) {
	var err error
	if *env, err = harness.Prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := shared.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
