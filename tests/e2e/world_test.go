// Package e2e runs SQL through the extension and a daemon and compares the results with
// PostgreSQL's own, including under errors and restarts.
package e2e

import (
	"testing"

	"gpujoin/tests/harness/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m, "") }

// Short names for helpers.
const (
	native  = sqltest.Native
	forced  = sqltest.Forced
	theJoin = sqltest.TheJoin
)

var (
	theWorld     = sqltest.Shared
	bounded      = sqltest.Bounded
	exec         = sqltest.Exec
	query        = sqltest.Query
	explain      = sqltest.Explain
	sameAsNative = sqltest.SameAsNative
)

// newWorld returns a world for one test.
func newWorld(t *testing.T) *sqltest.World {
	t.Helper()
	return sqltest.New(t, nil)
}
