package shm

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair returns two ends of a socket; the second one is not a Conn.
func pair(t *testing.T, daemon bool) (*Conn, *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socket")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := NewConn(ends[0], daemon)
	if err != nil {
		t.Fatal(err)
	}
	return conn, ends[1]
}

// openFDs counts the process's descriptors.
func openFDs(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func send(t *testing.T, to *net.UnixConn, b []byte, fds ...int) {
	t.Helper()
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	if _, _, err := to.WriteMsgUnix(b, oob, nil); err != nil {
		t.Fatal(err)
	}
}

func TestFrameHeader(t *testing.T) {
	good := Frame{Magic: FrameMagic, Length: uint32(Sizeof[Hello]()), Type: MsgHello}
	for name, c := range map[string]struct {
		change func(*Frame)
		want   error
	}{
		"good":            {func(*Frame) {}, nil},
		"magic":           {func(f *Frame) { f.Magic++ }, ErrFrameMagic},
		"reserved":        {func(f *Frame) { f.Reserved = 1 }, ErrFrameReserved},
		"type 0":          {func(f *Frame) { f.Type = 0 }, ErrFrameType},
		"type 26":         {func(f *Frame) { f.Type = 26 }, ErrFrameType},
		"type 64":         {func(f *Frame) { f.Type = 64 }, ErrFrameType},
		"type 65535":      {func(f *Frame) { f.Type = 65535 }, ErrFrameType},
		"length 0":        {func(f *Frame) { f.Length = 0 }, ErrFrameLength},
		"length 1":        {func(f *Frame) { f.Length = 1 }, ErrFrameLength},
		"length + 1":      {func(f *Frame) { f.Length++ }, ErrFrameLength},
		"length max + 1":  {func(f *Frame) { f.Length = FrameMax + 1 }, ErrFrameLength},
		"length negative": {func(f *Frame) { f.Length = 1 << 31 }, ErrFrameLength},
		"length 2^32 - 1": {func(f *Frame) { f.Length = 1<<32 - 1 }, ErrFrameLength},
		"one descriptor":  {func(f *Frame) { f.NFDs = 1 }, ErrFrameFDs},
		"65535 of them":   {func(f *Frame) { f.NFDs = 65535 }, ErrFrameFDs},
	} {
		f := good
		c.change(&f)
		conn, peer := pair(t, true)
		send(t, peer, append(Append(nil, &f), make([]byte, Sizeof[Hello]())...))
		if _, _, _, err := conn.Read(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCutFrame ends a conversation after every byte.
func TestCutFrame(t *testing.T) {
	b := AppendFrame(nil, MsgHello, 0, &Hello{ProtocolVersion: 1})
	first := len(b)
	b = AppendFrame(b, MsgWant, 0, &Want{Count: 3})
	for cut := range len(b) + 1 {
		conn, peer := pair(t, true)
		send(t, peer, b[:cut])
		peer.Close()
		read := 0
		var err error
		for ; err == nil; read++ {
			_, _, _, err = conn.Read()
		}
		read--
		want, whole := io.ErrUnexpectedEOF, 0
		if cut >= first {
			whole++
		}
		if cut == len(b) {
			whole++
		}
		if cut == 0 || cut == first || cut == len(b) {
			want = io.EOF
		}
		if read != whole || !errors.Is(err, want) {
			t.Errorf("cut at %d: %d frames, then %v", cut, read, err)
		}
	}
}

// TestByteByByte sends a frame with descriptors in single bytes.
func TestByteByByte(t *testing.T) {
	conn, peer := pair(t, false)
	fd, err := CreateMemfd(ExtentMinSize)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	b := AppendFrame(nil, MsgResult, 1, &Result{Extent: 7, Rows: 9})
	go func() {
		for i := range b {
			var oob []byte
			if i == 0 {
				oob = unix.UnixRights(fd)
			}
			if _, _, err := peer.WriteMsgUnix(b[i:i+1], oob, nil); err != nil {
				t.Error(err)
			}
		}
	}()
	_, body, fds, err := conn.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer CloseFDs(fds)
	if r, err := Decode[Result](body); err != nil || r.Extent != 7 || len(fds) != 1 {
		t.Fatalf("%+v, %v, %d descriptors", r, err, len(fds))
	}
	if err := VerifyMemfd(fds[0], ExtentMinSize); err != nil {
		t.Error(err)
	}
	if flags, err := unix.FcntlInt(uintptr(fds[0]), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("descriptor without close-on-exec: %v", err)
	}
}

// TestWrongDescriptors sends descriptors that do not match the frame. All that arrive
// must be closed.
func TestWrongDescriptors(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	repeat := func(n int) []int {
		fds := make([]int, n)
		for i := range fds {
			fds[i] = int(null.Fd())
		}
		return fds
	}
	result := AppendFrame(nil, MsgResult, 1, &Result{})
	welcome := AppendFrame(nil, MsgWelcome, 0, &Welcome{})
	for name, c := range map[string]struct {
		daemon bool
		frame  []byte
		fds    int
		want   error
	}{
		"none where one is announced": {false, result, 0, ErrFrameFDs},
		"two where one is announced":  {false, result, 2, ErrFrameFDs},
		"one where none is announced": {false, welcome, 1, ErrFrameFDs},
		"truncated list":              {false, result, 17, ErrControl},
		"as many as the system takes": {false, result, 253, ErrControl},
		"one for the daemon":          {true, AppendFrame(nil, MsgWant, 0, &Want{Count: 1}), 1, ErrFrameFDs},
		"list for the daemon":         {true, AppendFrame(nil, MsgWant, 0, &Want{Count: 1}), 253, ErrControl},
	} {
		conn, peer := pair(t, c.daemon)
		before := openFDs(t)
		send(t, peer, c.frame, repeat(c.fds)...)
		if _, _, fds, err := conn.Read(); !errors.Is(err, c.want) || fds != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after := openFDs(t); after != before {
			t.Errorf("%s: %d descriptors are left open", name, after-before)
		}
	}
}

func TestWrongSide(t *testing.T) {
	conn, peer := pair(t, true)
	send(t, peer, AppendEmpty(nil, MsgEnd))
	if _, _, _, err := conn.Read(); !errors.Is(err, ErrDirection) {
		t.Error(err)
	}
}

// TestVerifyMemfd offers descriptors of everything but an extent.
func TestVerifyMemfd(t *testing.T) {
	const size = ExtentMinSize
	dir := t.TempDir()
	plain := filepath.Join(dir, "file")
	if err := os.WriteFile(plain, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(path string, flags int) int {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	memfd := func(size int64, seals int) int {
		fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err == nil {
			err = unix.Ftruncate(fd, size)
		}
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer CloseFDs(pipe[:])
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)

	for name, c := range map[string]struct {
		fd   int
		want error
	}{
		"closed":           {-1, ErrNotMemfd},
		"pipe":             {pipe[0], ErrNotMemfd},
		"socket":           {socket, ErrNotMemfd},
		"directory":        {open(dir, unix.O_RDONLY|unix.O_DIRECTORY), ErrNotMemfd},
		"O_PATH":           {open(plain, unix.O_PATH), ErrNotMemfd},
		"device":           {open("/dev/zero", unix.O_RDWR), ErrNotMemfd},
		"plain file":       {open(plain, unix.O_RDWR), ErrNotMemfd},
		"no seals":         {memfd(size, 0), ErrUnsealed},
		"may shrink":       {memfd(size, unix.F_SEAL_GROW|unix.F_SEAL_SEAL), ErrUnsealed},
		"may grow":         {memfd(size, unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL), ErrUnsealed},
		"seals may be set": {memfd(size, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW), ErrUnsealed},
		"empty":            {memfd(0, Seals), ErrSize},
		"a byte short":     {memfd(size-1, Seals), ErrSize},
		"a byte long":      {memfd(size+1, Seals), ErrSize},
		"good":             {memfd(size, Seals), nil},
	} {
		if err := VerifyMemfd(c.fd, size); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSealed tries to remove pages of an extent.
func TestSealed(t *testing.T) {
	fd, err := CreateMemfd(ExtentMinSize)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for what, err := range map[string]error{
		"shrink": unix.Ftruncate(fd, 0),
		"grow":   unix.Ftruncate(fd, 2*ExtentMinSize),
	} {
		if err == nil {
			t.Errorf("%s was allowed", what)
		}
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err == nil {
		t.Error("seals can be added")
	}
	b, err := MapAligned(fd, ExtentMinSize)
	if err != nil {
		t.Fatal(err)
	}
	// A hole reads as zeros and does not fault.
	if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, ExtentMinSize); err != nil {
		t.Fatal(err)
	}
	if b[0] != 0 || b[ExtentMinSize-1] != 0 {
		t.Error("a hole is not zero")
	}
	if err := Unmap(b); err != nil {
		t.Error(err)
	}
}

func TestExtentSize(t *testing.T) {
	for size, ok := range map[int64]bool{
		0: false, -1: false, 1 << 19: false, 1 << 20: true, 1<<20 + 1: false, 3 << 20: false, 1 << 30: true, 1 << 31: false, -1 << 30: false,
	} {
		if err := CheckExtentSize(size); (err == nil) != ok {
			t.Errorf("%d: %v", size, err)
		}
	}
}

// TestAllRead: a message counts until the peer has read all of it, whatever was sent
// before.
func TestAllRead(t *testing.T) {
	conn, peer := pair(t, true)
	check := func(want bool, when string) {
		t.Helper()
		if all, err := conn.AllRead(); err != nil || all != want {
			t.Errorf("%s: %v, %v", when, all, err)
		}
	}
	check(true, "before the first message")
	for range 2 {
		if err := conn.Write(AppendEmpty(nil, MsgEnd), nil); err != nil {
			t.Fatal(err)
		}
	}
	check(false, "two messages wait")
	b := make([]byte, 2*FrameSize-1)
	if _, err := io.ReadFull(peer, b); err != nil {
		t.Fatal(err)
	}
	check(false, "a byte waits")
	if _, err := peer.Read(b); err != nil {
		t.Fatal(err)
	}
	check(true, "nothing waits")
	conn.StopWrites()
	if err := conn.Write(AppendEmpty(nil, MsgEnd), nil); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a write after StopWrites: %v", err)
	}
}
