package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/kept"
	"gpujoin/testsupport/backend"
)

type noSource struct{}

func (noSource) Retain()  {}
func (noSource) Release() {}

// keepTable lets a daemon keep a block of a table.
func keepTable(t *testing.T, srv *Server, table kept.Table, name string) {
	t.Helper()
	r := &kept.Request{
		Table: table, Name: name, Blocks: 1, Flushed: 9, Policy: kept.Always, Now: time.Now(), Job: 7, PID: 8,
		Columns: []kept.Column{{Attnum: 1, Type: 20, Physical: joincore.Column{Kind: joincore.Fixed, Width: 8}}},
		Groups:  []kept.Group{{LSN: 5, Visible: append([]byte{1}, make([]byte, kept.BitmapBytes-1)...)}},
	}
	l := srv.kept.Open(r)
	seg := joincore.Segment{Rows: 2, Columns: []joincore.Vector{{Values: make([]byte, 16)}}}
	must(t, l.Captured(seg, []kept.Block{{LSN: 4}}, noSource{}))
	l.Close(true)
	srv.kept.Drain()
}

// TestForget: FORGET drops the file of a table and what has its name, in one database of one
// cluster, and the status shows what is left.
func TestForget(t *testing.T) {
	r := start(t, func(o *Options) { o.KeepMemory = 64 << 20 }, nil)
	hello := shm.Hello{ProtocolVersion: shm.ProtocolVersion, LayoutVersion: shm.LayoutVersion, LeaderPID: 1, Database: 5, SystemIdentifier: 77}
	table := kept.Table{System: 77, Database: 5, Tablespace: 1663, File: 1}
	other := table
	other.Database = 6
	foreign := table
	foreign.System = 78
	renamed := table
	renamed.File = 2
	last := table
	last.File = 3
	keepTable(t, r.srv, table, "public.t")
	keepTable(t, r.srv, other, "public.t")
	keepTable(t, r.srv, foreign, "public.t")
	keepTable(t, r.srv, renamed, "public.u")
	keepTable(t, r.srv, last, "public.v")

	c, err := backend.DialRaw(r.path)
	must(t, err)
	t.Cleanup(c.Close)
	_, err = c.Hello(hello)
	must(t, err)
	forget := func(f shm.Forget, name string, want uint64) {
		t.Helper()
		must(t, c.Raw().Write(shm.AppendForget(nil, &f, name), nil))
		frame, body, _, err := c.Receive()
		must(t, err)
		got, err := shm.Decode[shm.Forgotten](body)
		if err != nil || frame.Type != shm.MsgForgotten || got.Bytes != want {
			t.Errorf("%v %+v, %v; want %d bytes", frame.Type, got, err, want)
		}
	}
	forget(shm.Forget{Tablespace: 1663, File: 9}, "public.w", 0)
	forget(shm.Forget{Tablespace: 1664, File: 1}, "public.w", 0)
	forget(shm.Forget{Tablespace: 1663, File: 2}, "public.t", 2*64) // spans are aligned

	text, err := c.Status()
	must(t, err)
	var status Status
	must(t, json.Unmarshal(text, &status))
	var left []string
	for _, k := range status.Kept.Tables {
		left = append(left, fmt.Sprintf("cluster %d, database %d, file %d", k.Cluster, k.Database, k.File))
	}
	slices.Sort(left)
	if !slices.Equal(left, []string{"cluster 77, database 5, file 3", "cluster 77, database 6, file 1", "cluster 78, database 5, file 1"}) {
		t.Errorf("left are %q", left)
	}
	r.srv.kept.Shrink(math.MaxInt64)
	if len(status.Kept.Progress) != 0 {
		t.Errorf("nothing is captured, but %+v", status.Kept.Progress)
	}

	must(t, backend.Send(c, shm.MsgForget, &shm.Forget{Length: 1}))
	var failed *backend.Failed
	if _, _, _, err := c.Receive(); !errors.As(err, &failed) || failed.Code != shm.FailProtocol {
		t.Errorf("a name that is missing: %v", err)
	}
}
