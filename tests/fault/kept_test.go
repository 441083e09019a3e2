package fault

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"gpujoin/tests/harness/sqltest"
	"gpujoin/tests/keptcheck"
)

// TestKept compares queries over kept columns with native ones while writers, VACUUM and
// changes of definitions work on small tables, and the daemon and the server are killed.
// make kept-check does more of it. GPUJOIN_SEED repeats a run, as far as timing allows.
func TestKept(t *testing.T) {
	seed := uint64(1)
	if s := os.Getenv("GPUJOIN_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	r, err := keptcheck.Check(context.Background(), sqltest.Env, keptcheck.Options{
		Duration: 25 * time.Second, Seed: seed, Quick: true, Faults: 8 * time.Second, Readers: 4, Say: t.Logf,
	})
	if err != nil {
		t.Error(err)
	}
	if r == nil {
		return
	}
	t.Log(r)
	if r.Pairs < 50 || r.Level1 == 0 || r.Level2 == 0 || r.Blocks.Captured == 0 {
		t.Error("too little was compared over kept columns")
	}
}
