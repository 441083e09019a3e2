package sidecar

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"gpujoin/shm"
	"gpujoin/sidecar/kept"
	"gpujoin/testsupport/backend"
)

// leafJob is joinJob whose second input may be kept.
func leafJob() []byte {
	job := string(joinJob(100, 100, 1000))
	at := strings.LastIndex(job, `{"database":1`)
	end := at + strings.Index(job[at:], `,"root"`) - 2 // the brackets of the input and of the list
	input := strings.ReplaceAll(job[at:end], `,"role"`, `,"form":0,"scale":0,"role"`)
	return []byte(job[:at] + input + `,"kept":{"hidden":0}` + job[end:])
}

// leafPages are PAGES of a leaf of three blocks, all of them visible.
func leafPages(relation uint32, flags uint32, attnums ...int16) []byte {
	p := &shm.Pages{Input: 1, Flags: shm.PagesAlways | flags, Relation: relation, File: relation, Blocks: 3, Flushed: 9}
	return shm.AppendPages(nil, p, &shm.Leaf{
		Groups: []shm.Group{{LSN: 5, Visible: shm.Bitmap{7}}}, Attnums: attnums, Name: fmt.Sprint("public.t", relation),
	})
}

// asked sends PAGES of two leaves, whose columns have other numbers, and returns KEPT.
func (r *rig) asked(c *backend.Conn, first, second uint32) (shm.Kept, []shm.KeptLeaf, []shm.GroupState) {
	r.t.Helper()
	attnums := map[uint32][]int16{7: {1, 2, 3}, 8: {3, 1, 2}}
	must(r.t, c.Raw().Write(leafPages(first, shm.PagesMore, attnums[first]...), nil))
	must(r.t, c.Raw().Write(leafPages(second, 0, attnums[second]...), nil))
	f, body, _, err := c.Receive()
	must(r.t, err)
	if f.Type != shm.MsgKept {
		r.t.Fatalf("%s came", f.Type)
	}
	k, leaves, states, err := shm.DecodeKept(body)
	must(r.t, err)
	return k, leaves, states
}

// unused waits until no job has a lease.
func (r *rig) unused() {
	r.t.Helper()
	r.eventually("no lease is left", func() (bool, string) {
		n := 0
		r.srv.kept.Forget(func(t *kept.TableInfo) bool {
			n += t.Leases
			return false
		})
		return n == 0, fmt.Sprint(n, " leases")
	})
}

func captured(e *backend.Extent, rows int, blocks ...shm.CapturedBlock) []byte {
	return shm.AppendCaptured(nil, &shm.Captured{Extent: e.ID, Input: 1, Rows: uint32(rows)}, blocks)
}

// TestLeavesOfAnInput: a batch has blocks of two tables, each of which is kept by itself and
// served in the next job, whatever their order there.
func TestLeavesOfAnInput(t *testing.T) {
	r := start(t, func(o *Options) { o.KeepMemory = 64 << 20 }, nil)
	left, right := tableRows(20, 5, "l"), tableRows(30, 5, "r")
	run := func(c *backend.Conn, want []string) {
		t.Helper()
		must(t, c.Feed(0, tableShapes, left, 0))
		must(t, c.Fed(shm.Fed{}))
		must(t, c.Run(1))
		got, err := c.Drain(resultShapes, 2)
		must(t, err)
		sameRows(t, got, want)
		c.Close()
		r.unused()
	}

	c := r.dial(1)
	_, err := c.Open(shm.Open{}, leafJob())
	must(t, err)
	k, leaves, states := r.asked(c, 7, 8)
	if k.Mode != shm.FeedKept || len(leaves) != 2 || leaves[0] != (shm.KeptLeaf{Relation: 7, Blocks: 3, Capture: 3}) ||
		leaves[1].Relation != 8 || !bytes.Equal([]byte{byte(states[0]), byte(states[1])}, []byte{0, 0}) {
		t.Fatalf("%+v %+v %v", k, leaves, states)
	}
	e, err := c.Want(1)
	must(t, err)
	n, err := backend.Fill(e[0].Data, tableShapes, right, 0)
	must(t, err)
	// rows 0 to 9 and 10 to 14 are of the first table, 15 to 29 of the second one
	must(t, c.Raw().Write(captured(e[0], n, shm.CapturedBlock{LSN: 4}, shm.CapturedBlock{LSN: 4, Block: 2, FirstRow: 10},
		shm.CapturedBlock{LSN: 4, Block: shm.GroupBlocks + 1, FirstRow: 15}), nil))
	run(c, joinOf(left, right))
	r.srv.kept.Drain()
	defer r.srv.kept.Shrink(math.MaxInt64)
	if tables := r.srv.kept.Tables(); len(tables) != 2 || tables[0].Name != "public.t7" || tables[0].Columns[0].Rows != 15 ||
		tables[1].Columns[0].Rows != 15 || tables[1].Columns[0].Column.Attnum != 3 {
		t.Fatalf("%+v", tables)
	}

	// Another order; the missing blocks have no rows.
	c = r.dial(1)
	_, err = c.Open(shm.Open{}, leafJob())
	must(t, err)
	_, _, states = r.asked(c, 8, 7)
	if !bytes.Equal([]byte{byte(states[0]), byte(states[1])}, []byte{byte(shm.GroupMixed), byte(shm.GroupMixed)}) {
		t.Fatalf("%v", states)
	}
	for group, want := range []byte{2, 5} {
		must(t, backend.Send(c, shm.MsgBlocksGet, &shm.BlocksGet{Input: 1, Group: uint32(group)}))
		_, body, _, err := c.Receive()
		must(t, err)
		b, _, err := shm.DecodeBlocks(body)
		must(t, err)
		if b.Kept[0]|b.Prove[0] != want || b.Group != uint32(group) {
			t.Errorf("group %d: %b kept, %b to be proved", group, b.Kept[0], b.Prove[0])
		}
	}
	run(c, joinOf(left, right))

	// What is not asked for is not served.
	c = r.dial(1)
	_, err = c.Open(shm.Open{}, leafJob())
	must(t, err)
	must(t, c.Raw().Write(leafPages(8, 0, 3, 1, 2), nil))
	_, _, _, err = c.Receive()
	must(t, err)
	run(c, joinOf(left, right[15:]))
}

// TestLeafViolations: what names no leaf of an input, or names one twice, ends the connection.
func TestLeafViolations(t *testing.T) {
	r := start(t, func(o *Options) { o.KeepMemory = 64 << 20 }, nil)
	rows := tableRows(4, 2, "x")
	extent := func(t *testing.T, c *backend.Conn) (*backend.Extent, int) {
		e, err := c.Want(1)
		must(t, err)
		n, err := backend.Fill(e[0].Data, tableShapes, rows, 0)
		must(t, err)
		return e[0], n
	}
	large := &shm.Pages{Input: 1, Flags: shm.PagesMore, Blocks: shm.MaxGroups * shm.GroupBlocks}
	for name, act := range map[string]func(t *testing.T, c *backend.Conn) error{
		"a leaf twice": func(t *testing.T, c *backend.Conn) error {
			must(t, c.Raw().Write(leafPages(7, shm.PagesMore, 1, 2, 3), nil))
			return c.Raw().Write(leafPages(7, 0, 1, 2, 3), nil)
		},
		"a leaf after the last one": func(t *testing.T, c *backend.Conn) error {
			r.asked(c, 7, 8)
			return c.Raw().Write(leafPages(9, 0, 1, 2, 3), nil)
		},
		"a leaf after rows": func(t *testing.T, c *backend.Conn) error {
			must(t, c.Raw().Write(leafPages(7, shm.PagesMore, 1, 2, 3), nil))
			_, _ = extent(t, c)
			return c.Raw().Write(leafPages(8, 0, 1, 2, 3), nil)
		},
		"too few columns": func(_ *testing.T, c *backend.Conn) error { return c.Raw().Write(leafPages(7, 0, 1, 2), nil) },
		"too many groups": func(t *testing.T, c *backend.Conn) error {
			leaf := &shm.Leaf{Groups: make([]shm.Group, shm.MaxGroups), Attnums: []int16{1, 2, 3}}
			for i := range uint32(shm.MaxInputGroups / shm.MaxGroups) {
				large.Relation = i
				must(t, c.Raw().Write(shm.AppendPages(nil, large, leaf), nil))
			}
			return c.Raw().Write(leafPages(100, 0, 1, 2, 3), nil)
		},
		"blocks of no group": func(t *testing.T, c *backend.Conn) error {
			r.asked(c, 7, 8)
			return backend.Send(c, shm.MsgBlocksGet, &shm.BlocksGet{Input: 1, Group: 2})
		},
		"blocks of the last number": func(t *testing.T, c *backend.Conn) error {
			r.asked(c, 7, 8)
			return backend.Send(c, shm.MsgBlocksGet, &shm.BlocksGet{Input: 1, Group: 1<<32 - 1})
		},
		"blocks before all leaves are known": func(t *testing.T, c *backend.Conn) error {
			must(t, c.Raw().Write(leafPages(7, shm.PagesMore, 1, 2, 3), nil))
			return backend.Send(c, shm.MsgBlocksGet, &shm.BlocksGet{Input: 1})
		},
		"proof of no group": func(t *testing.T, c *backend.Conn) error {
			r.asked(c, 7, 8)
			return backend.Send(c, shm.MsgProved, &shm.Proved{Input: 1, Group: 2, Blocks: shm.Bitmap{1}})
		},
		"proof that was not asked for": func(t *testing.T, c *backend.Conn) error {
			r.asked(c, 7, 8)
			return backend.Send(c, shm.MsgProved, &shm.Proved{Input: 1, Group: 1, Blocks: shm.Bitmap{1}})
		},
		"a captured block between leaves": func(t *testing.T, c *backend.Conn) error {
			r.asked(c, 7, 8)
			e, n := extent(t, c)
			return c.Raw().Write(captured(e, n, shm.CapturedBlock{LSN: 4, Block: 3}), nil)
		},
		"a captured block behind all leaves": func(t *testing.T, c *backend.Conn) error {
			r.asked(c, 7, 8)
			e, n := extent(t, c)
			return c.Raw().Write(captured(e, n, shm.CapturedBlock{LSN: 4}, shm.CapturedBlock{LSN: 4, Block: 2 * shm.GroupBlocks, FirstRow: 2}), nil)
		},
		"a captured block of the last number": func(t *testing.T, c *backend.Conn) error {
			r.asked(c, 7, 8)
			e, n := extent(t, c)
			return c.Raw().Write(captured(e, n, shm.CapturedBlock{LSN: 4, Block: 1<<32 - 1}), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := r.dial(2)
			_, err := c.Open(shm.Open{}, leafJob())
			must(t, err)
			must(t, act(t, c))
			wantFailure(t, drainUntilError(c), shm.FailProtocol)
			r.waitIdleBut(c)
		})
	}
}

// TestUnfinishedLeaves: a job that ends, or runs, before all leaves are known keeps nothing.
func TestUnfinishedLeaves(t *testing.T) {
	r := start(t, func(o *Options) { o.KeepMemory = 64 << 20 }, nil)
	rows := tableRows(20, 5, "x")
	for _, runs := range []bool{false, true} {
		c := r.dial(1)
		_, err := c.Open(shm.Open{}, leafJob())
		must(t, err)
		must(t, c.Raw().Write(leafPages(7, shm.PagesMore, 1, 2, 3), nil))
		if runs {
			must(t, c.Feed(0, tableShapes, rows, 0))
			must(t, c.Feed(1, tableShapes, rows, 0))
			must(t, c.Fed(shm.Fed{}))
			must(t, c.Run(1))
			got, err := c.Drain(resultShapes, 2)
			must(t, err)
			sameRows(t, got, joinOf(rows, rows))
		}
		c.Close()
		r.unused()
	}
}
