package sidecar

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/testsupport/backend"
)

// deafness is how a peer comes to be owed frames that it does not read.
var deafness = map[string]func(r *rig) *backend.Conn{
	"before HELLO": func(r *rig) *backend.Conn {
		c, err := backend.DialRaw(r.path)
		must(r.t, err)
		return c
	},
	"after HELLO": func(r *rig) *backend.Conn {
		return flood(r.dial(1), shm.AppendEmpty(nil, shm.MsgStatusGet))
	},
	"refused": func(r *rig) *backend.Conn {
		c := r.dial(1)
		must(r.t, sendOpen(c, shm.Open{}, 100_000_000))
		must(r.t, sendOpen(c, shm.Open{}, 1)) // a violation
		return c
	},
	"after OPEN": func(r *rig) *backend.Conn {
		c, _ := opened(r, 1, shm.Open{})
		return flood(c, shm.AppendEmpty(nil, shm.MsgStatsGet))
	},
	"feeding": func(r *rig) *backend.Conn {
		c, _ := opened(r, 1, shm.Open{})
		return flood(c, shm.AppendFrame(nil, shm.MsgWant, 0, &shm.Want{Count: 1}))
	},
	"results": func(r *rig) *backend.Conn {
		c, _ := opened(r, 1, shm.Open{})
		must(r.t, backend.Send(c, shm.MsgRun, &shm.Run{Generation: 1}))
		return flood(c, shm.AppendFrame(nil, shm.MsgNext, 0, &shm.Next{Count: 1 << 20}))
	},
	"extents of a chain": func(r *rig) *backend.Conn {
		c, _ := opened(r, 1, shm.Open{})
		must(r.t, fillChain(r.t, c, chainOf(0), "long"))
		must(r.t, c.Fed(shm.Fed{}))
		return flood(c, shm.AppendFrame(nil, shm.MsgChainGet, 0, &shm.ChainGet{Chain: chainOf(0)}))
	},
}

func sendOpen(c *backend.Conn, o shm.Open, rows int) error {
	job := joinJob(rows, rows, rows)
	o.JSONLength, o.Participants = uint32(len(job)), 1
	return backend.Send(c, shm.MsgOpen, &o, job...)
}

// flood sends a frame until the daemon has taken many, or does not listen to
// this peer any more.
func flood(c *backend.Conn, frame []byte) *backend.Conn {
	shm.FinishFrame(frame, 0)
	err := c.Raw().Sock().SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	for i := 0; i < 10_000 && err == nil; i++ {
		err = c.Raw().Write(frame, nil)
	}
	return c
}

// TestDeafPeers: a peer that reads nothing, wherever it has come to, keeps the
// daemon neither from serving others nor from stopping, and little is on its
// way to it.
func TestDeafPeers(t *testing.T) {
	for name, deafen := range deafness {
		t.Run(name, func(t *testing.T) {
			o := testOptions(t)
			o.Window = 64
			srv, err := Start(o, testBackend(func(ctx context.Context, _ joincore.Memory, sink joincore.Sink) error {
				return emit(ctx, sink, 100)
			}))
			must(t, err)
			r := &rig{t, srv, o.Socket}
			deaf := deafen(r)
			defer deaf.Close()

			other, _ := opened(r, 2, shm.Open{})
			must(t, other.Run(1))
			rows, err := other.Drain(resultShapes, 2)
			must(t, err)
			if len(rows) != 100 {
				t.Errorf("another job has %d rows", len(rows))
			}
			other.Close()
			srv.mu.Lock()
			for s := range srv.sessions {
				s.out.mu.Lock()
				if s.out.unread > maxUnread || len(s.out.queue) > hardFrames || s.out.bytes > hardBytes {
					t.Errorf("%d descriptors, %d frames, %d bytes for one peer", s.out.unread, len(s.out.queue), s.out.bytes)
				}
				s.out.mu.Unlock()
			}
			srv.mu.Unlock()

			now, cancel := context.WithCancel(context.Background())
			cancel()
			stopped := make(chan error, 1)
			go func() { stopped <- srv.Stop(now) }()
			select {
			case err := <-stopped:
				must(t, err)
			case <-time.After(20 * time.Second):
				t.Error("the daemon does not stop")
				deaf.Close()
				<-stopped
			}
			if u, s := srv.Usage(); u.Reserved != 0 || s.Physical != 0 {
				t.Errorf("%+v %+v", u, s)
			}
		})
	}
}

// TestDeafPeerWithoutJob: a peer that asks and never reads does not keep its
// connection, no more than one that is silent.
func TestDeafPeerWithoutJob(t *testing.T) {
	r := start(t, func(o *Options) { o.IdleTimeout = 100 * time.Millisecond }, nil)
	deaf := deafness["after HELLO"](r)
	defer deaf.Close()
	r.eventually("its session has ended", func() (bool, string) {
		r.srv.mu.Lock()
		defer r.srv.mu.Unlock()
		return len(r.srv.sessions) == 0, fmt.Sprint(len(r.srv.sessions), " sessions")
	})
}
