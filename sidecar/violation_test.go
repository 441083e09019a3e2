package sidecar

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"gpujoin/shm"
	"gpujoin/testsupport/backend"
)

// TestViolations does one forbidden thing at a time. Each ends that
// connection with a reason, and a job next to it does not notice.
func TestViolations(t *testing.T) {
	r := start(t, nil, nil)
	rows := tableRows(50, 5, "x")
	feed := func(t *testing.T, c *backend.Conn) *backend.Extent {
		e, err := c.Want(1)
		must(t, err)
		return e[0]
	}
	filled := func(c *backend.Conn, e *backend.Extent, input, rows int) error { return c.Filled(e, input, rows) }
	for name, act := range map[string]func(t *testing.T, c *backend.Conn) error{
		"hello again":      func(_ *testing.T, c *backend.Conn) error { return backend.Send(c, shm.MsgHello, &shm.Hello{}) },
		"open again":       func(_ *testing.T, c *backend.Conn) error { return backend.Send(c, shm.MsgOpen, &shm.Open{}) },
		"attach as leader": func(_ *testing.T, c *backend.Conn) error { return backend.Send(c, shm.MsgAttach, &shm.Attach{}) },
		"status in a job":  func(_ *testing.T, c *backend.Conn) error { return c.SendEmpty(shm.MsgStatusGet) },
		"reset in a job":   func(_ *testing.T, c *backend.Conn) error { return c.SendEmpty(shm.MsgStatusReset) },
		"next before run":  func(_ *testing.T, c *backend.Conn) error { return c.Next(1) },
		"daemon's message": func(_ *testing.T, c *backend.Conn) error { return c.SendEmpty(shm.MsgEnd) },
		"want none":        func(_ *testing.T, c *backend.Conn) error { return backend.Send(c, shm.MsgWant, &shm.Want{}) },
		"want 17":          func(_ *testing.T, c *backend.Conn) error { return backend.Send(c, shm.MsgWant, &shm.Want{Count: 17}) },
		"want 2^32 - 1": func(_ *testing.T, c *backend.Conn) error {
			return backend.Send(c, shm.MsgWant, &shm.Want{Count: 1<<32 - 1})
		},
		"want after fed": func(t *testing.T, c *backend.Conn) error {
			must(t, c.Fed(shm.Fed{}))
			return backend.Send(c, shm.MsgWant, &shm.Want{Count: 1})
		},
		"fed twice": func(t *testing.T, c *backend.Conn) error {
			must(t, c.Fed(shm.Fed{}))
			return backend.Send(c, shm.MsgFed, &shm.Fed{})
		},
		"run while feeding": func(t *testing.T, c *backend.Conn) error {
			feed(t, c)
			return backend.Send(c, shm.MsgRun, &shm.Run{Generation: 1})
		},
		"run of generation 0": func(_ *testing.T, c *backend.Conn) error { return backend.Send(c, shm.MsgRun, &shm.Run{}) },
		"run of generation 2": func(_ *testing.T, c *backend.Conn) error { return backend.Send(c, shm.MsgRun, &shm.Run{Generation: 2}) },
		"fill what was not granted": func(_ *testing.T, c *backend.Conn) error {
			return backend.Send(c, shm.MsgFilled, &shm.Filled{Extent: 1, Rows: 1})
		},
		"fill twice": func(t *testing.T, c *backend.Conn) error {
			e := feed(t, c)
			n, err := backend.Fill(e.Data, tableShapes, rows, 0)
			must(t, err)
			must(t, filled(c, e, 0, n))
			return backend.Send(c, shm.MsgFilled, &shm.Filled{Extent: e.ID, Rows: uint32(n)})
		},
		"fill nothing": func(t *testing.T, c *backend.Conn) error {
			e := feed(t, c)
			clear(e.Data[:4096])
			return filled(c, e, 0, 1)
		},
		"fill for no input": func(t *testing.T, c *backend.Conn) error { return filled(c, feed(t, c), 2, 1) },
		"fill with other rows": func(t *testing.T, c *backend.Conn) error {
			e := feed(t, c)
			n, err := backend.Fill(e.Data, tableShapes, rows, 0)
			must(t, err)
			return filled(c, e, 0, n+1)
		},
		"fill with other columns": func(t *testing.T, c *backend.Conn) error {
			e := feed(t, c)
			other := slices.Clone(tableShapes)
			other[1], other[2] = other[2], other[1]
			swapped := [][]backend.Value{{backend.Int64(1), backend.Varlena("x", 4), backend.Int64(2)}}
			n, err := backend.Fill(e.Data, other, swapped, 0)
			must(t, err)
			return filled(c, e, 0, n)
		},
		"extent of a chain that is a batch": func(t *testing.T, c *backend.Conn) error {
			e := feed(t, c)
			_, err := backend.Fill(e.Data, tableShapes, rows, 0)
			must(t, err)
			return c.ChainFilled(e, 1, 10)
		},
		"another extent of a chain than announced": func(t *testing.T, c *backend.Conn) error {
			return chained(t, c, shm.ChainFilled{Chain: 1, Bytes: 10}, shm.ChainHeader{Chain: 2, Bytes: 10})
		},
		"fewer bytes of a chain than announced": func(t *testing.T, c *backend.Conn) error {
			return chained(t, c, shm.ChainFilled{Chain: 1, Bytes: 11}, shm.ChainHeader{Chain: 1, Bytes: 10})
		},
		"more bytes of a chain than an extent has": func(t *testing.T, c *backend.Conn) error {
			return chained(t, c, shm.ChainFilled{Chain: 1, Bytes: 1 << 20}, shm.ChainHeader{Chain: 1, Bytes: 1 << 20})
		},
		"no bytes of a chain": func(t *testing.T, c *backend.Conn) error {
			return chained(t, c, shm.ChainFilled{Chain: 1}, shm.ChainHeader{Chain: 1})
		},
		"chain of another participant": func(t *testing.T, c *backend.Conn) error {
			return fillChain(t, c, shm.ChainExtentName(7, 0), "x")
		},
		"extent of a chain twice": func(t *testing.T, c *backend.Conn) error {
			must(t, fillChain(t, c, chainOf(0), "x"))
			return fillChain(t, c, chainOf(0), "x")
		},
		"release twice": func(t *testing.T, c *backend.Conn) error {
			e := feed(t, c)
			must(t, c.Release(e))
			return backend.Send(c, shm.MsgRelease, &shm.Release{Extent: e.ID})
		},
		"release of another's": func(_ *testing.T, c *backend.Conn) error {
			return backend.Send(c, shm.MsgRelease, &shm.Release{Extent: 1})
		},
		"extent of a chain that is not there": func(_ *testing.T, c *backend.Conn) error {
			return backend.Send(c, shm.MsgChainGet, &shm.ChainGet{Chain: 3})
		},
		"extent behind a chain's end": func(t *testing.T, c *backend.Conn) error {
			must(t, fillChain(t, c, chainOf(0), "x"))
			return backend.Send(c, shm.MsgChainGet, &shm.ChainGet{Chain: chainOf(1)})
		},
		"garbage": func(_ *testing.T, c *backend.Conn) error { return c.Raw().Write(make([]byte, 100), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			neighbour, job := opened(r, 1, shm.Open{Participants: 2})
			held, err := neighbour.Want(1)
			must(t, err)
			c, _ := opened(r, 2, shm.Open{})
			before := r.srv.counters.now().Violations
			must(t, act(t, c))
			wantFailure(t, drainUntilError(c), shm.FailProtocol)
			if _, _, _, err := c.Receive(); !errors.Is(err, io.EOF) {
				t.Errorf("the connection is still there: %v", err)
			}
			if after := r.srv.counters.now().Violations; after != before+1 {
				t.Errorf("%d violations were counted", after-before)
			}
			n, err := backend.Fill(held[0].Data, tableShapes, rows, 0)
			must(t, err)
			must(t, neighbour.Filled(held[0], 0, n))
			worker := r.dial(1)
			must(t, worker.Attach(job, 0))
			must(t, neighbour.Feed(1, tableShapes, rows, 0))
			must(t, neighbour.Fed(shm.Fed{}))
			must(t, neighbour.Run(1))
			got, err := neighbour.Drain(resultShapes, 1)
			must(t, err)
			sameRows(t, got, joinOf(rows, rows))
			worker.Close()
			neighbour.Close()
			r.waitIdleBut(c)
		})
	}
}

// chainOf names an extent of the leader's chain.
func chainOf(number uint32) uint64 { return shm.ChainExtentName(-1, number) }

// chained hands over an extent of a chain, announced as one thing and holding
// another. Both name extents of the leader's chain by their numbers.
func chained(t *testing.T, c *backend.Conn, announced shm.ChainFilled, held shm.ChainHeader) error {
	t.Helper()
	e, err := c.Want(1)
	must(t, err)
	held.Magic, held.Version, held.Chain = shm.ChainMagic, shm.LayoutVersion, chainOf(uint32(held.Chain))
	copy(e[0].Data, shm.Append(nil, &held))
	return c.ChainFilled(e[0], chainOf(uint32(announced.Chain)), announced.Bytes)
}

// waitIdleBut closes c and waits until nothing is in use.
func (r *rig) waitIdleBut(c *backend.Conn) {
	c.Close()
	r.waitIdle()
}

// drainUntilError receives until something is wrong.
func drainUntilError(c *backend.Conn) error {
	for {
		_, _, fds, err := c.Receive()
		shm.CloseFDs(fds)
		if err != nil {
			return err
		}
	}
}

// TestWrongToken tries to attach to a job of others.
func TestWrongToken(t *testing.T) {
	r := start(t, nil, nil)
	_, job := opened(r, 1, shm.Open{Participants: 2})
	for _, change := range []func(*shm.Admitted){
		func(a *shm.Admitted) { a.Token[15]++ },
		func(a *shm.Admitted) { a.Token = [16]byte{} },
		func(a *shm.Admitted) { a.Job++ },
		func(a *shm.Admitted) { a.Job, a.Token = 0, [16]byte{} },
	} {
		a := job
		change(&a)
		wantFailure(t, r.dial(1).Attach(a, 0), shm.FailProtocol)
	}
	wantFailure(t, r.dial(1).Attach(job, -2), shm.FailProtocol)
	must(t, r.dial(1).Attach(job, 0))
}

// FuzzSession throws frames of all kinds at a session: the input is a list of
// messages, each with the number of bytes of its body and the body.
func FuzzSession(f *testing.F) {
	script := func(messages ...any) (b []byte) {
		for i := 0; i < len(messages); i += 2 {
			body := messages[i+1].([]byte)
			b = append(append(b, byte(messages[i].(shm.Message)), byte(len(body))), body...)
		}
		return b
	}
	le := binary.LittleEndian.AppendUint32
	f.Add(script(shm.MsgWant, le(le(nil, 3), 0), shm.MsgFed, make([]byte, 32), shm.MsgRun, le(le(nil, 1), 0), shm.MsgNext, le(le(nil, 9), 0), shm.MsgStatsGet, []byte{}))
	f.Add(script(shm.MsgRun, le(le(nil, 1), 0), shm.MsgNext, le(le(nil, 1<<31), 0), shm.MsgReturned, make([]byte, 16)))
	f.Add(script(shm.MsgWant, le(le(nil, 16), 0), shm.MsgRelease, make([]byte, 8), shm.MsgChainGet, make([]byte, 8)))
	f.Add(script(shm.MsgInputFed, make([]byte, 8), shm.MsgFilterGet, make([]byte, 8), shm.MsgFiltered, make([]byte, 24), shm.MsgFed, make([]byte, 32), shm.MsgRun, le(le(nil, 1), 0)))
	o := testOptions(f)
	o.MemoryBudget = 64 << 20
	srv, err := Start(o, NewLocal(cpuProvider(), 0, nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := srv.Stop(f.Context()); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &rig{t, srv, o.Socket}
		c, err := backend.Dial(o.Socket, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Open(shm.Open{Flags: shm.OpenRewind, QueueTimeoutMS: 1000}, filterJob(1)); err != nil {
			t.Fatal(err)
		}
		// Who reads no answers is not listened to after a while.
		if err := c.Raw().Sock().SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		for len(b) > 1 {
			m, n := shm.Message(b[0]), min(int(b[1]), len(b)-2)
			frame := append(shm.BeginFrame(nil, m, 0), b[2:2+n]...)
			shm.FinishFrame(frame, 0)
			if err := c.Raw().Write(frame, nil); err != nil {
				break
			}
			b = b[2+n:]
		}
		c.Timeout = 5 * time.Millisecond
		_ = drainUntilError(c) // whatever it is
		c.Close()
		r.waitIdle()
	})
}
