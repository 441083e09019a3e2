package control

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"gpujoin/shm"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openFDs(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestGiveAndDrop sends extents and maps what arrives.
func TestGiveAndDrop(t *testing.T) {
	before := openFDs(t)
	s, file, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReceiver(file)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := shm.CreateMemfd(shm.ExtentMinSize)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&Message{Kind: Give, Size: shm.ExtentMinSize, Extents: []uint64{7, 8}, FDs: []int{fd, fd}}); err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	if err := s.Send(&Message{Kind: Drop, Extents: []uint64{7}}); err != nil {
		t.Fatal(err)
	}
	m, err := r.Next()
	if err != nil || m.Kind != Give || m.Size != shm.ExtentMinSize || !slices.Equal(m.Extents, []uint64{7, 8}) || len(m.FDs) != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	if err := shm.VerifyMemfd(m.FDs[1], m.Size); err != nil {
		t.Error(err)
	}
	shm.CloseFDs(m.FDs)
	if m, err = r.Next(); err != nil || m.Kind != Drop || !slices.Equal(m.Extents, []uint64{7}) || len(m.FDs) != 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	r.Close()
	<-s.Gone()
	if err := s.Send(&Message{Kind: Drop, Extents: []uint64{8}}); err == nil {
		t.Error("sent without a receiver")
	}
	s.Close()
	if after := openFDs(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestDaemonGone(t *testing.T) {
	s, file, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReceiver(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s.Close()
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestMalformed sends packets that are wrong in one thing each. The
// descriptors that came with them are closed.
func TestMalformed(t *testing.T) {
	good := (&Message{Kind: Give, Size: shm.ExtentMinSize, Extents: []uint64{1}}).encode()
	change := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	for name, c := range map[string]struct {
		packet []byte
		fds    int
	}{
		"magic":              {change(0, 'x'), 1},
		"kind 0":             {change(4, 0), 1},
		"kind 3":             {change(4, 3), 1},
		"no extents":         {change(6, 0), 1},
		"too many extents":   {change(7, 1), 1},
		"one extent more":    {change(6, 2), 1},
		"huge":               {change(15, 1), 1},
		"no descriptor":      {good, 0},
		"two descriptors":    {good, 2},
		"drop with a file":   {change(4, 2), 1},
		"short":              {good[:headerSize-1], 1},
		"longer than it may": {append(bytes.Clone(good), make([]byte, maxPacket)...), 1},
	} {
		s, file, err := Pair()
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReceiver(file)
		if err != nil {
			t.Fatal(err)
		}
		before := openFDs(t)
		var oob []byte
		for range c.fds {
			oob = append(oob, unix.UnixRights(0)...)
		}
		if c.fds == 2 {
			oob = unix.UnixRights(0, 0)
		}
		if _, _, err := s.sock.WriteMsgUnix(c.packet, oob, nil); err != nil {
			t.Fatal(err)
		}
		if m, err := r.Next(); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		if after := openFDs(t); after != before {
			t.Errorf("%s: %d descriptors, %d before", name, after, before)
		}
		r.Close()
		s.Close()
	}
}

// FuzzDecode: what is decoded is what was encoded.
func FuzzDecode(f *testing.F) {
	f.Add((&Message{Kind: Give, Size: 1 << 20, Extents: []uint64{1, 2}}).encode(), 2)
	f.Add((&Message{Kind: Drop, Extents: []uint64{9}}).encode(), 0)
	f.Fuzz(func(t *testing.T, b []byte, fds int) {
		m, err := decode(b[:len(b):len(b)], make([]int, max(0, min(fds, 99))))
		if err == nil && !bytes.Equal(m.encode(), b) {
			t.Errorf("%x is %+v, which is %x", b, m, m.encode())
		}
	})
}
