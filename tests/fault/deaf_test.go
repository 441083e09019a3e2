package fault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gpujoin/shm"
	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
	"gpujoin/tests/harness/sqltest"
	"gpujoin/testsupport/backend"
)

// Tests with a peer that sends requests and never reads an answer, and with a
// log that is never read: the daemon serves others, and ends when told to.

// int8Job returns a job with a chain of joins on int8 columns.
func int8Job(joins int) []byte {
	input := func(i int) string {
		return fmt.Sprintf(`{"database":1,"relation":2,"name":"t%d","feed":"page","rows":1,"row_bytes":16,"columns":[
			{"attnum":1,"type":20,"typmod":-1,"collation":0,"role":"value","encoding":"fixed","width":8,"align":8}]}`, i)
	}
	inputs, root := []string{input(0)}, `{"op":"scan","input":0}`
	for i := 1; i <= joins; i++ {
		inputs = append(inputs, input(i))
		root = fmt.Sprintf(`{"op":"join","kind":"inner","rows":1,"left":%s,"right":{"op":"scan","input":%d},
			"keys":[{"left":{"input":0,"column":0},"right":{"input":%[2]d,"column":0},"class":"int"}]}`, root, i)
	}
	return fmt.Appendf(nil, `{"version":3,"static":{"inputs":[%s],"root":{"op":"project","columns":[{"input":0,"column":0}],"child":%s}},
		"runtime":{"generation":1,"parameters":[],"snapshot":"","lsn":""}}`, strings.Join(inputs, ","), root)
}

// soonStopped returns the options of a daemon with a short stop timeout.
func soonStopped() harness.DaemonOptions {
	return sqltest.DaemonOptions(harness.DaemonOptions{"stop-timeout": "1s"})
}

// dial connects to a daemon as a backend does.
func dial(t *testing.T, d *harness.Daemon) *backend.Conn {
	t.Helper()
	c, err := backend.Dial(d.Socket, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// deafened is a peer that requests an extent of its chain repeatedly and reads nothing.
func deafened(t *testing.T, d *harness.Daemon) {
	t.Helper()
	c := dial(t, d)
	if _, err := c.Open(shm.Open{}, int8Job(1)); err != nil {
		t.Fatal(err)
	}
	extents, err := c.Want(1)
	if err != nil {
		t.Fatal(err)
	}
	chain := shm.ChainExtentName(-1, 0) // the leader's
	copy(extents[0].Data, shm.Append(nil, &shm.ChainHeader{
		Magic: shm.ChainMagic, Version: shm.LayoutVersion, Chain: chain, Bytes: 1,
	}))
	err = errors.Join(c.ChainFilled(extents[0], chain, 1), c.Fed(shm.Fed{}),
		c.Raw().Sock().SetWriteDeadline(time.Now().Add(time.Second)))
	for i := 0; i < 10_000 && err == nil; i++ {
		err = backend.Send(c, shm.MsgChainGet, &shm.ChainGet{Chain: chain})
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) { // the daemon no longer reads from it
		t.Fatal(err)
	}
}

// A peer that reads nothing does not use up the limit on descriptors in flight
// of the daemon's user.
func TestDeafPeer(t *testing.T) {
	point.Point{What: "another peer reads nothing, with 160 descriptors", Process: daemon, Moment: "a whole query", Shape: serialJoin, Expect: "offloaded"}.Announce(t)
	w := theWorld(t)
	d, err := w.Cluster.StartDaemonAt(filepath.Join(w.Cluster.Sock, "deaf"), soonStopped())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	}()
	// The limit on open files also limits descriptors in flight.
	limit := w.Cluster.Env.Account.Command(w.Cluster.Dir, "prlimit", fmt.Sprint("--pid=", d.PID()), "--nofile=160:160")
	if out, err := limit.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	deafened(t, d)
	s := w.Session(t, forced, serial, "set gpujoin.socket = '"+d.Socket+"'")
	for range 3 {
		ctx, cancel := bounded()
		plan, err := s.Explain(ctx, "analyze, timing off", theSum)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if joins := plan.OffloadJoins(); len(joins) != 1 || joins[0].Text("Fallback") != "" {
			t.Errorf("no OffloadJoin, or one that fell back: %v", joins)
		}
	}
	if log := d.Log(); strings.Contains(log, "refuses to send descriptors") {
		t.Errorf("the kernel refused descriptors:\n%s", d.LogTail(5))
	}
}

// The daemon ends soon after its stop timeout, whatever its peers and the
// reader of its log do, and however many joins the job has that it is
// admitting.
func TestSignalEndsTheDaemon(t *testing.T) {
	w := theWorld(t)
	for name, ended := range map[string]bool{"a log that nobody reads": false, "a log whose reader has ended": true} {
		t.Run(name, func(t *testing.T) {
			reader, log, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			if _, err := unix.FcntlInt(log.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
				t.Fatal(err)
			}
			d, err := w.Cluster.StartDaemonLogging(filepath.Join(w.Cluster.Sock, "stuck"), soonStopped(), log)
			log.Close()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Stop() }() // has ended already unless the test failed
			if ended {
				reader.Close()
			}
			for range 100 { // each is logged
				c := dial(t, d)
				if _, err := c.Open(shm.Open{}, int8Job(1)); err != nil {
					t.Fatal(err)
				}
				c.Close()
			}
			deafened(t, d)
			large := dial(t, d)
			job := int8Job(50)
			if err := backend.Send(large, shm.MsgOpen, &shm.Open{Participants: 1, JSONLength: uint32(len(job))}, job...); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			const generous = 30 * time.Second
			if err := d.Process.Stop(generous, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			t.Logf("the daemon ended after %v", time.Since(start))
		})
	}
}
