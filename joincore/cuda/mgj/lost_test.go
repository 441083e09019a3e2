//go:build cuda

package mgj

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/testsupport/columnartest"
)

// losePeer names the environment variable of the process that loses access to a peer.
const losePeer = "GPUJOIN_TEST_LOSE_PEER"

// If a GPU loses access to a peer while its kernels store there, the join ends with an error that
// says that the context is lost. A copy may also be refused before it begins. No wait lasts for
// ever, and contexts of other processes on the same devices go on to join. The error is sticky,
// so another process has to fail.
func TestPeerAccessIsLost(t *testing.T) {
	if all, err := driver.Devices(); err != nil || len(all) < 2 {
		t.Skipf("stores into another device need two devices: %d, %v", len(all), err)
	}
	if gpu := os.Getenv(losePeer); gpu != "" {
		losePeerAccess(t, int(gpu[0]-'0'), ways[gpu[2:]])
		return
	}
	r := columnartest.New(t, 1<<28)
	b := newBed(t, nil, 0, 1)
	works := func() {
		t.Helper()
		r.Inner(b.join(Options{}, evenly, uneven), some(3000, 5000, 4, two, columnartest.Spread(3000)))
	}
	works()
	for how := range ways {
		for gpu := range 2 {
			child := exec.Command(os.Args[0], "-test.run=^TestPeerAccessIsLost$", "-test.v", "-test.timeout=60s")
			child.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", losePeer, gpu, how))
			out, err := child.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "access was lost as expected") {
				t.Errorf("GPU %d, rows are %s: %v\n%s", gpu, how, err, out)
			}
			works()
		}
	}
}

// losePeerAccess joins until GPU number loser loses access to the other one's memory, and then
// ends the process, as a worker does.
func losePeerAccess(t *testing.T, loser int, way Way) {
	b := newBed(t, nil, 0, 1)
	const rows = 1 << 20
	keys := make([]byte, 4*rows)
	for i := range rows {
		binary.LittleEndian.PutUint32(keys[4*i:], uint32(i))
	}
	parts := make([]columnar.Join, len(b.members))
	for i, m := range b.members {
		at, err := m.Arena.Take(int64(len(keys)))
		if err != nil {
			t.Fatal(err)
		}
		host, err := m.Device.Pinned(int64(len(keys)))
		if err != nil {
			t.Fatal(err)
		}
		copy(host.Bytes(), keys)
		if err := errors.Join(m.Stream.CopyIn(at, host.Bytes()), m.Stream.Sync(t.Context())); err != nil {
			t.Fatal(err)
		}
		side := columnar.Side{Rows: rows, Key: columnar.Column{Addr: at, Bytes: 4}}
		parts[i] = columnar.Join{Build: side, Probe: side, OutputRows: 2 * rows}
	}
	marks := []driver.Mark{b.members[0].Arena.Mark(), b.members[1].Arena.Mark()}
	revoked := make(chan error, 1)
	join := func() error {
		for i, m := range b.members {
			m.Arena.Rewind(marks[i])
		}
		_, _, err := b.group.Join(t.Context(), parts, Options{Strategy: Exchange, Way: way})
		return err
	}
	if err := join(); err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(20 * time.Millisecond)
		revoked <- b.members[1-loser].Arena.Revoke(b.members[loser].Device)
	}()
	joins := 0
	var err error
	for err == nil {
		err = join()
		joins++
	}
	var e *driver.Error
	lost := errors.As(err, &e) && e.Sticky() && b.members[loser].Device.Lost() != nil
	if !lost && (e == nil || way != WayCopy) { // a copy may be refused before it begins
		t.Fatalf("after %d joins: %v", joins, err)
	}
	if err := <-revoked; err != nil {
		t.Fatal(err)
	}
	fmt.Printf("access was lost as expected after %d joins: %v; closing: %v\n", joins, err, b.group.Close())
	os.Exit(0)
}
