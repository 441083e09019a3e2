package fault

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"gpujoin/tests/harness"
)

// TestChaos runs clients with all kinds of statements while the daemon is
// killed, connections are cut and frames are corrupted at random. A statement
// returns the right rows, or one of the permitted errors. The seed is logged;
// GPUJOIN_SEED repeats it, as far as timing allows.
func TestChaos(t *testing.T) {
	w := theWorld(t)
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("GPUJOIN_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("GPUJOIN_SEED=%d", seed)
	queries := []string{
		theJoin, theSum,
		"select t.g, (select count(*) from fact f join dim d on f.k = d.k where f.g < t.g) from tiny t where t.g < 4",
		"select b.k, md5(b.value), d.v from big b join dim d on b.k = d.k",
		"select a.n, b.n from (select count(*) as n from fact f join dim d on f.k = d.k) a, (select count(*) as n, max(t.name) from fact f join tiny t on f.g = t.g) b",
	}
	for _, sql := range queries {
		w.Expect(t, sql)
	}
	done := make(chan struct{})
	var clients sync.WaitGroup
	var mu sync.Mutex
	ends := map[string]int{}
	for i := range 4 {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		s := w.proxied(t, "set gpujoin.connect_timeout = '500ms'; set gpujoin.queue_timeout = '500ms'; set statement_timeout = '3s'")
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				sql := queries[rng.IntN(len(queries))]
				ctx, cancel := bounded()
				err := s.Exec(ctx, fmt.Sprintf("set max_parallel_workers_per_gather = %d; set parallel_leader_participation = %t", rng.IntN(4), rng.IntN(2) == 0))
				cancel()
				if err != nil {
					t.Errorf("the session is lost: %v", err)
					return
				}
				a := <-ask(s, sql)
				state := harness.SQLState(a.err)
				mu.Lock()
				ends[state]++
				mu.Unlock()
				switch {
				case a.err == nil:
					if d := harness.SameRows(w.Native[sql], a.Result); d != "" {
						t.Errorf("%s: %s", sql, d)
					}
				case state != "08006" && state != "57014":
					t.Errorf("%s: %v", sql, a.err)
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(seed, 99))
	kinds := []int{
		harness.MsgHello, harness.MsgOpen, harness.MsgAttach, harness.MsgWant, harness.MsgFilled, harness.MsgFed, harness.MsgRun, harness.MsgNext, harness.MsgRelease,
		harness.MsgWelcome, harness.MsgAdmitted, harness.MsgGrant, harness.MsgFedOK, harness.MsgRunning, harness.MsgResult, harness.MsgEnd, harness.MsgChainExtent,
	}
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end) && !t.Failed(); {
		h := w.Proxy.HoldFrame(kinds[rng.IntN(len(kinds))], 1+rng.IntN(6))
		select {
		case <-h.Reached:
		case <-time.After(300 * time.Millisecond):
		}
		switch rng.IntN(4) {
		case 0:
			if err := w.Daemon.Kill(); err != nil {
				t.Fatal(err)
			}
			h.Release()
			w.Restart(t)
		case 1:
			h.Cut()
		case 2: // a while without an answer
			goOn := w.stopped(t)
			h.Release()
			time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
			goOn()
		case 3:
			at := rng.IntN(16)
			w.Proxy.Rewrite(func(f *harness.Frame) ([]*harness.Frame, bool) {
				if at >= 0 && f.Type >= harness.MsgWelcome {
					f.Bytes[at] ^= 1 << rng.IntN(8) // in the header only: values cannot be checked
					at = -1
				}
				return []*harness.Frame{f}, true
			})
			h.Release()
			time.Sleep(50 * time.Millisecond)
			w.Proxy.Rewrite(nil)
		}
	}
	close(done)
	clients.Wait()
	t.Logf("statements by SQLSTATE: %v", ends)
	if ends[""] == 0 {
		t.Error("no statement was answered")
	}
	w.Proxy.HoldFrame(0, 1).Release() // no frame is held any more
	w.unharmed(t, nil)
}
