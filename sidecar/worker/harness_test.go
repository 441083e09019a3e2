package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/shm"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/memory"
	"gpujoin/sidecar/worker/child"
	"gpujoin/sidecar/worker/control"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/plandoc"
	"gpujoin/testsupport/separate"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"gpujoin/testsupport/suite"
)

// TestMain is also the main function of the children of these tests: the
// program starts itself anew.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		os.Exit(workerMain(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

// workerMain plays a worker, a healthy one or one of many others.
func workerMain(mode string) int {
	switch mode {
	case "garbage":
		fmt.Println("hello, here is your plugin")
		time.Sleep(time.Minute)
	case "exits":
		return 0
	case "protocol":
		fmt.Println("1|99|unix|/nonexistent|grpc|")
		time.Sleep(time.Minute)
	case "netrpc":
		fmt.Printf("1|%d|unix|/nonexistent|netrpc|\n", control.Version)
		time.Sleep(time.Minute)
	case "silent":
		fmt.Fprintln(os.Stderr, "silent from here on")
		time.Sleep(time.Minute)
	case "panics":
		panic("no device today")
	}
	if file, ok := strings.CutPrefix(mode, "holds "); ok {
		for end := time.Now().Add(time.Minute); exists(file) && time.Now().Before(end); { // a failed test leaves it
			time.Sleep(time.Millisecond)
		}
		return 0
	}
	if file, ok := strings.CutPrefix(mode, "slow to end "); ok && exists(file) {
		holder := osexec.Command(os.Args[0], "worker", "holds "+file) // the daemon's pipe
		holder.Stderr = os.Stderr
		if err := holder.Start(); err != nil {
			panic(err)
		}
	}
	if kind, ok := strings.CutPrefix(mode, "evil "); ok {
		return serveEvil(kind)
	}
	return child.Main(func(*slog.Logger) (*child.Machine, error) {
		var p device.Provider = cpu.New()
		switch mode {
		case "fails":
			return nil, errors.New("the driver is too old")
		case "empty":
			return &child.Machine{}, nil
		case "separate":
			p = &separate.Provider{Inner: cpu.New()}
		case "bulk":
			p = &bulk.Provider{Inner: &separate.Provider{Inner: cpu.New()}}
		case "environment":
			return &child.Machine{Devices: []child.Device{{Provider: p, Name: strings.Join(os.Environ(), "\n")}}}, nil
		}
		if mode == "keeps" {
			p = keeping{p}
		}
		if fault, ok := strings.CutPrefix(mode, "job "); ok {
			p = &faulty{p, fault}
		}
		m := &child.Machine{Jobs: child.JobDevices{Always: true}}
		devices := []device.Provider{p}
		if text, fault, ok := strings.Cut(mode, " devices"); ok {
			devices = several(text, strings.TrimSpace(fault), m)
		}
		for _, p := range devices {
			m.Devices = append(m.Devices, child.Device{Provider: p, Name: "pid " + strconv.Itoa(os.Getpid()), Memory: 1 << 30, Budget: 1 << 29,
				Options: exec.Options{Device: device.Options{Streams: 2, ChunkRows: 256}}})
		}
		return m, nil
	})
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// keeping is a provider that keeps host memory between joins.
type keeping struct{ device.Provider }

func (keeping) Kept() int64 { return 5 << 20 }

// faulty is a provider that does something terrible with every job.
type faulty struct {
	device.Provider
	fault string
}

// lost is an error after which a device does nothing any more.
type lost struct{ sticky bool }

func (lost) Error() string  { return "an illegal address was touched" }
func (l lost) Sticky() bool { return l.sticky }

func (f *faulty) Open(mem joincore.Memory, opt device.Options) (device.Device, error) {
	switch f.fault {
	case "kill":
		unix.Kill(os.Getpid(), unix.SIGKILL)
	case "stop":
		unix.Kill(os.Getpid(), unix.SIGSTOP)
	case "crash":
		go func() { panic("a fault in C") }()
		time.Sleep(time.Minute)
	case "panic":
		panic("a provider's mistake")
	case "exit":
		os.Exit(0)
	case "sticky":
		return nil, lost{true}
	case "error":
		return nil, lost{false}
	case "memory":
		return nil, fmt.Errorf("%w: device memory", joincore.ErrBudget)
	case "deaf": // to cancelling
		fmt.Fprintln(os.Stderr, "deaf from here on")
		time.Sleep(time.Minute)
	case "hungry":
		for {
			if _, err := mem.Alloc(8 << 20); err != nil {
				return nil, err
			}
		}
	}
	return f.Provider.Open(mem, opt)
}

// rig is a store, a job's account, and a worker.
type rig struct {
	t       testing.TB
	store   *memory.Store
	budget  *memory.Budget
	account *memory.Account
	remote  *Remote
	logged  *logged
}

// logged keeps what was logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if testing.Verbose() {
		os.Stderr.Write(b)
	}
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const (
	testBudget     = 128 << 20
	testExtentSize = 1 << 20
)

// quick is for tests. It is patient with all that a healthy worker has to do,
// which may be starved of CPU; a test shortens only what its worker never does.
var quick = Timing{
	Start: time.Minute, First: time.Minute, Health: 50 * time.Millisecond, Silence: 30 * time.Second, Cancel: time.Minute,
	Reap: time.Minute, Stop: 20 * time.Second, Probe: 20 * time.Millisecond,
	RestartFirst: 10 * time.Millisecond, RestartMost: 100 * time.Millisecond,
	Deaths: 1000, Window: time.Hour, Open: time.Hour,
}

// start starts a worker. At the end of the test nothing of it may be left: no
// memory, process, socket or descriptor.
func start(t testing.TB, mode string, change func(*Config)) *rig {
	t.Helper()
	descriptors := openFDs(t)
	r := &rig{t: t, budget: memory.NewBudget(testBudget), logged: &logged{}}
	var err error
	if r.store, err = memory.NewStore(testExtentSize, testBudget, 1<<10); err != nil {
		t.Fatal(err)
	}
	if r.account, err = r.budget.Reserve(t.Context(), r.store, 0, memory.Claim{}, 0); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Name: "test", Path: program, Args: []string{"worker", mode}, Sockets: filepath.Join(dir, "w"),
		Probe: func() error { return nil }, Environ: os.Environ(), Store: r.store, Timing: quick,
		Log: slog.New(slog.NewTextHandler(io.Writer(r.logged), &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&config)
	}
	r.remote = Start(config)
	t.Cleanup(func() {
		r.remote.Close()
		r.idle()
		r.account.Close()
		r.store.Close()
		if u := r.store.Usage(); u.Physical != 0 {
			t.Errorf("memory is left: %+v", u)
		}
		if entries, err := os.ReadDir(config.Sockets); err == nil && len(entries) > 0 {
			t.Errorf("sockets are left: %v", entries)
		}
		r.eventually("all descriptors are closed", func() bool { return openFDs(t) <= descriptors })
	})
	return r
}

// idle waits until the job's account is empty.
func (r *rig) idle() {
	r.t.Helper()
	r.eventually("the job has given everything back", func() bool {
		used := r.account.Used()
		return used == 0
	})
}

func (r *rig) eventually(what string, done func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("never came true: %s\n%s", what, r.logged)
		}
	}
}

// ready waits until the worker serves.
func (r *rig) ready() *rig {
	r.t.Helper()
	r.eventually("the worker is ready", func() bool { return r.remote.Ready() == nil })
	return r
}

// another says whether another worker serves than the one with that process id.
func (r *rig) another(than int) bool {
	p, err := r.remote.current()
	return err == nil && p.cmd.Process.Pid != than
}

// pid returns the process id of the worker.
func (r *rig) pid() int {
	r.t.Helper()
	p, err := r.remote.current()
	if err != nil {
		r.t.Fatal(err)
	}
	return p.cmd.Process.Pid
}

func openFDs(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// stage copies a relation into extents, as a backend feeds it.
func (r *rig) stage(in *joincore.Relation) (*joincore.Relation, func()) {
	r.t.Helper()
	out := &joincore.Relation{Columns: in.Columns}
	var extents []*memory.Extent
	var room []byte // of the last extent
	put := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		n := copy(room[:len(b):len(b)], b)
		placed := room[:n:n]
		room = room[(n+63)/64*64:]
		return placed
	}
	for i := range in.Segments {
		s := &in.Segments[i]
		if s.Rows == 0 {
			continue
		}
		need := 0
		for _, c := range s.Columns {
			need += len(c.Values) + len(c.Validity) + len(c.Heap) + 3*64
		}
		if need > len(room) { // segments share extents, but none is split
			e, err := r.account.Extent(false)
			if err != nil {
				r.t.Fatal(err)
			}
			extents, room = append(extents, e), e.Data
		}
		segment := joincore.Segment{Rows: s.Rows}
		for _, c := range s.Columns {
			segment.Columns = append(segment.Columns, joincore.Vector{Values: put(c.Values), Validity: put(c.Validity), Heap: put(c.Heap)})
		}
		out.Segments = append(out.Segments, segment)
	}
	return out, func() {
		for _, e := range extents {
			e.Release()
		}
	}
}

// sink turns batches, which lie in extents, into rows. It blocks or fails as a
// test wants it.
type sink struct {
	account *memory.Account
	columns []joincore.Column
	rows    int           // of a batch, at most
	window  chan struct{} // nil: none
	before  func(ctx context.Context, batches int) error

	refuseAfter int // batches; 0: never

	mu       sync.Mutex
	granted  int
	refusals int
	batches  int
	open     int
	result   oracle.Rows
}

func newSink(account *memory.Account, plan *joincore.Plan, rows int) *sink {
	s := &sink{account: account, rows: rows, result: oracle.Rows{}}
	for _, c := range plan.Output {
		s.columns = append(s.columns, plan.Inputs[c.Input].Columns[c.Column])
	}
	return s
}

func (s *sink) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	if s.window != nil {
		select {
		case s.window <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if s.refuseAfter > 0 && !s.grants() {
		return nil, errRefusal
	}
	e, err := s.account.Extent(true)
	if err != nil {
		return nil, err
	}
	var shapes []shm.ColumnShape
	for _, c := range s.columns {
		shape := shm.ColumnShape{Encoding: shm.EncFixed, Width: uint16(c.Width), Align: uint8(c.Align)}
		if c.Kind == joincore.Varlena {
			shape.Encoding, shape.Align = shm.EncVarlena, 4
		}
		shapes = append(shapes, shape)
	}
	layout, err := shm.PlanBatch(len(e.Data), shapes, heap)
	if err != nil {
		e.Release()
		return nil, err
	}
	b := &joincore.Batch{Rows: min(layout.Rows, s.rows), Handle: e}
	for _, c := range layout.Columns(e.Data) {
		b.Columns = append(b.Columns, joincore.Vector{Values: c.Values, Validity: c.Validity, Heap: c.Heap})
	}
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	return b, nil
}

var errRefusal = errors.New("no further batch")

// grants reports whether there is a further batch.
func (s *sink) grants() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.granted == s.refuseAfter {
		s.refusals++
		return false
	}
	s.granted++
	return true
}

func (s *sink) Emit(ctx context.Context, b *joincore.Batch, rows int, heap []int) error {
	s.mu.Lock()
	n := s.batches
	s.batches++
	s.mu.Unlock()
	if s.before != nil {
		if err := s.before(ctx, n); err != nil {
			s.Discard(b)
			return err
		}
	}
	s.mu.Lock()
	for i := range rows {
		var row []byte
		for k, c := range s.columns {
			value, null := oracle.ValueAt(c, &b.Columns[k], i)
			row = oracle.AppendValue(row, value, null)
		}
		s.result[string(row)]++
	}
	s.mu.Unlock()
	s.Discard(b)
	return nil
}

func (s *sink) Discard(b *joincore.Batch) {
	s.mu.Lock()
	s.open--
	s.mu.Unlock()
	if s.window != nil {
		<-s.window
	}
	b.Handle.(*memory.Extent).Release()
}

// opened returns how many batches have been neither emitted nor discarded.
func (s *sink) opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// emitted returns how many batches have been emitted.
func (s *sink) emitted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batches
}

// job stages the inputs of a plan.
func (r *rig) job(plan *joincore.Plan, inputs []*joincore.Relation, sink joincore.Sink) (*executor.Job, func()) {
	r.t.Helper()
	job := &executor.Job{Plan: suite.Checked(r.t, plan), Text: plandoc.Write(plan), Memory: r.account, Sink: sink}
	var free []func()
	for _, in := range inputs {
		staged, release := r.stage(in)
		job.Inputs = append(job.Inputs, staged)
		free = append(free, release)
	}
	return job, func() {
		for _, f := range free {
			f()
		}
	}
}
