package child

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/shm"
	"gpujoin/sidecar/worker/control"
	"gpujoin/testsupport/plandoc"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stream is a stand-in for a worker's end of a run.
type stream struct {
	grpc.ServerStream
	ctx context.Context
	in  chan *control.ToWorker
	out chan *control.FromWorker
}

func newStream(t *testing.T) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return &stream{ctx: ctx, in: make(chan *control.ToWorker, 8), out: make(chan *control.FromWorker, 64)}
}

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) Recv() (*control.ToWorker, error) {
	select {
	case m, ok := <-s.in:
		if !ok {
			return nil, io.EOF
		}
		return m, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (s *stream) Send(m *control.FromWorker) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	select {
	case s.out <- m:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// daemon is a stand-in for the daemon: it gives a server extents.
type daemon struct {
	t       *testing.T
	sender  *control.Sender
	srv     *server
	ended   chan error // of receiving
	extents map[uint64][]byte
}

// registry is a provider that notes what it is told of.
type registry struct {
	device.Provider
	mu    sync.Mutex
	known int
	err   error
}

func (r *registry) Register([]byte) (func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	r.known++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.known--
	}, nil
}

// refuse has Register fail from now on; nil: no more.
func (r *registry) refuse(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}

// slow is a provider whose driver takes its time to unregister memory.
type slow struct {
	device.Provider
	begun, end chan struct{}
}

func (s *slow) Register([]byte) (func(), error) {
	return func() {
		close(s.begun)
		<-s.end
	}, nil
}

func startDaemon(t *testing.T, p device.Provider, log *slog.Logger) *daemon {
	t.Helper()
	sender, file, err := control.Pair()
	if err != nil {
		t.Fatal(err)
	}
	receiver, err := control.NewReceiver(file)
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t, sender, newServer(&Machine{Devices: []Device{{Provider: p, Name: "test", Jobs: 1}}}, log), make(chan error, 1), map[uint64][]byte{}}
	go func() { d.ended <- d.srv.pool.receive(receiver) }()
	t.Cleanup(sender.Close)
	return d
}

func (d *daemon) give(id uint64) {
	d.t.Helper()
	fd, err := shm.CreateMemfd(shm.ExtentMinSize)
	if err != nil {
		d.t.Fatal(err)
	}
	defer unix.Close(fd)
	if d.extents[id], err = shm.MapAligned(fd, shm.ExtentMinSize); err != nil {
		d.t.Fatal(err)
	}
	m := &control.Message{Kind: control.Give, Size: shm.ExtentMinSize, Extents: []uint64{id}, FDs: []int{fd}}
	if err := d.sender.Send(m); err != nil {
		d.t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never came true: ", what)
		}
	}
}

var int8Column = joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}

// startMessage asks for a join of eight rows in extent 1 with themselves.
func startMessage(t *testing.T) *control.Start {
	t.Helper()
	job := plandoc.Write(&joincore.Plan{
		Inputs: []joincore.Input{{Columns: []joincore.Column{int8Column}}, {Columns: []joincore.Column{int8Column}}},
		Root: &joincore.Join{
			Kind: joincore.Inner, Left: &joincore.Scan{}, Right: &joincore.Scan{Input: 1},
			Keys: []joincore.KeyPair{{Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
		},
		Output: []joincore.ColumnRef{{}},
	})
	rows := eightRows(1, 0, 64)
	return &control.Start{Job: job, Inputs: [][]byte{rows, rows}}
}

// eightRows are rows of one column, as control.EncodeRows writes them, whose values lie in n bytes
// at an offset of an extent.
func eightRows(extent uint64, offset int64, n uint64) []byte {
	out := append(binary.AppendUvarint([]byte{1, 1}, extent), 1, 8, 1, 0)
	return binary.AppendUvarint(binary.AppendVarint(out, offset), n)
}
