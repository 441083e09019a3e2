package backend

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"gpujoin/shm"
)

// TestDescriptors: no call keeps a descriptor of a message that it does not
// expect, or that must not have any.
func TestDescriptors(t *testing.T) {
	frames := map[string][]byte{
		"GRANT":        shm.AppendFrame(nil, shm.MsgGrant, 1, &shm.Grant{Count: 2}),
		"RESULT":       shm.AppendFrame(nil, shm.MsgResult, 1, &shm.Result{}),
		"CHAIN_EXTENT": shm.AppendFrame(nil, shm.MsgChainExtent, 1, &shm.ChainExtent{}),
		"FILTER":       shm.AppendFrame(nil, shm.MsgFilter, 1, &shm.Filter{}),
		"RUNNING":      shm.BeginFrame(nil, shm.MsgRunning, 1),
		"END":          shm.BeginFrame(nil, shm.MsgEnd, 1),
		"WELCOME":      shm.AppendFrame(nil, shm.MsgWelcome, 1, &shm.Welcome{}),
		"STATUS":       shm.BeginFrame(nil, shm.MsgStatus, 1),
	}
	calls := map[string]func(c *Conn) error{
		"Hello":  func(c *Conn) error { _, err := c.Hello(shm.Hello{}); return err },
		"Open":   func(c *Conn) error { _, err := c.Open(shm.Open{}, nil); return err },
		"Attach": func(c *Conn) error { return c.Attach(shm.Admitted{}, 1) },
		"Want":   func(c *Conn) error { _, err := c.Want(1); return err },
		"Fed":    func(c *Conn) error { return c.Fed(shm.Fed{}) },
		"Filter": func(c *Conn) error { _, _, err := c.Filter(1); return err },
		"Run":    func(c *Conn) error { return c.Run(1) },
		"Result": func(c *Conn) error { _, err := c.Result(); return err },
		"Chain":  func(c *Conn) error { _, err := c.Chain(1); return err },
		"Stats":  func(c *Conn) error { _, err := c.Stats(); return err },
		"Status": func(c *Conn) error { _, err := c.Status(); return err },
	}
	for message, frame := range frames {
		for call, f := range calls {
			t.Run(call+" "+message, func(t *testing.T) {
				c, daemon := dialFake(t)
				defer c.Close()
				before := descriptors(t)
				fd, err := os.Open(os.DevNull)
				if err != nil {
					t.Fatal(err)
				}
				err = daemon.Write(frame, []int{int(fd.Fd())})
				fd.Close()
				daemon.Sock().CloseWrite()
				if err != nil {
					t.Fatal(err)
				}
				if err := f(c); err == nil {
					t.Error("the call accepted the message")
				}
				if after := descriptors(t); after != before {
					t.Errorf("%d descriptors are open instead of %d", after, before)
				}
			})
		}
	}
}

// dialFake returns a connection and the daemon's end of it.
func dialFake(t *testing.T) (*Conn, *shm.Conn) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := DialRaw(path)
	if err != nil {
		t.Fatal(err)
	}
	sock, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sock.Close() })
	daemon, err := shm.NewConn(sock, true)
	if err != nil {
		t.Fatal(err)
	}
	return c, daemon
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
