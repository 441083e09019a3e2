// Package child implements the worker process, which the daemon starts to
// execute joins on devices that need their own libraries or failure domain. It
// serves any device.Provider.
//
// The worker owns no lasting state. It keeps extents mapped, and registered with the
// devices, until the daemon drops them. It exits when the daemon does, and when a device
// is lost, because only a new process can recover the device.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/textcodes"
	"gpujoin/sidecar/worker/control"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Device is one device that a worker serves.
type Device struct {
	Provider device.Provider
	Options  exec.Options
	Name     string                 // model name
	Memory   int64                  // bytes
	Budget   int64                  // bytes of Memory that joins may use
	Used     func() int64           // bytes in use; nil: unknown
	Jobs     int                    // concurrent jobs; further jobs wait briefly, then are refused
	Rates    *costmodel.DeviceRates // measured ones; nil: defaults
	Note     string                 // what it does without, and why; "": nothing
}

// Machine is what a worker serves.
type Machine struct {
	Devices []Device
	Unused  []Unused
	Links   []Link
	Jobs    JobDevices
	// Codes is the most bytes of host memory of codes of texts that stay between jobs; 0: none.
	Codes int64
}

// Unused is a device on which no join runs.
type Unused struct {
	Name   string
	Memory int64 // bytes
	Reason string
}

// Host is the end of a link that is no device.
const Host = -1

// Link is how rows get from one device to another, or between a device and the host.
type Link struct {
	From, To int // numbers in Machine.Devices, or Host
	Kind     string
	GBps     float64       // 10^9 bytes a second of large copies; 0: unknown
	Latency  time.Duration // of a small copy; 0: unknown
	Note     string        // what is missing, and why; "": nothing
}

// Main is the main function of a worker. It opens the devices with open, serves
// them until the daemon closes the connection, and returns the exit code. Log
// output goes to the daemon's log. The last line of standard error is the
// reason that status reports show for a missing device.
func Main(open func(*slog.Logger) (*Machine, error)) int {
	signal.Ignore(syscall.SIGHUP) // is for the daemon, which may be of the same terminal
	stderr := os.Stderr           // go-plugin replaces it
	if os.Getenv(control.Handshake.MagicCookieKey) != control.Handshake.MagicCookieValue {
		fmt.Fprintln(stderr, "this program is started by gpujoind, and does nothing by itself")
		return 2
	}
	log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	machine, err := open(log)
	if err != nil {
		log.Error(err.Error())
		return 1
	}
	if err := serve(machine, log); err != nil {
		log.Error(err.Error())
		return 1
	}
	return 0
}

func serve(machine *Machine, log *slog.Logger) error {
	unix.CloseOnExec(control.HandoverFD)
	receiver, err := control.NewReceiver(os.NewFile(control.HandoverFD, "handover"))
	if err != nil {
		return fmt.Errorf("could not listen for extents: %w", err)
	}
	s := newServer(machine, log)
	go func() {
		// The daemon's end of the socket closes when the daemon ends.
		if err := s.pool.receive(receiver); err != io.EOF {
			log.Error("could not receive extents", "error", err)
		}
		os.Exit(1)
	}()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  control.Handshake,
		VersionedPlugins: control.Plugins(s),
		Logger:           hclog.NewNullLogger(),
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			// A plan lists every segment of its inputs, so messages can be
			// large.
			return grpc.NewServer(append(options, grpc.MaxRecvMsgSize(math.MaxInt32))...)
		},
	})
	return nil
}

// server handles the daemon's requests.
type server struct {
	control.UnimplementedWorkerServer
	machine *Machine
	queues  []*deviceQueue
	able    [][]*control.Strategy // of each device, as Machine.strategies returns them
	methods [][]*control.Strategy // of each device, as Machine.methods returns them
	pool    *pool
	memo    *textcodes.Memo // nil: none
	log     *slog.Logger
}

func newServer(machine *Machine, log *slog.Logger) *server {
	s := &server{machine: machine, log: log}
	registrars := make([]*registrar, len(machine.Devices))
	for i, d := range machine.Devices {
		s.queues, s.able = append(s.queues, newDeviceQueue(d)), append(s.able, machine.strategies(i))
		s.methods = append(s.methods, machine.methods(i))
		if r, ok := d.Provider.(Registrar); ok {
			registrars[i] = &registrar{Registrar: r}
		}
	}
	s.pool = newPool(registrars, log)
	if machine.Codes > 0 {
		s.memo = textcodes.NewMemo(newMemory(limited(machine.Codes)), func(gone []uint64) {
			s.eachKeeper(func(k columnKeeper) { k.Drop(gone) })
		})
	}
	return s
}

// Status implements control.WorkerServer.
func (s *server) Status(_ context.Context, r *control.StatusRequest) (*control.StatusReply, error) {
	s.drop(r.GetGone())
	reply := &control.StatusReply{Contents: s.contents(r.GetVersion())}
	for i, q := range s.queues {
		d := q.status()
		d.Strategies, d.Methods = s.able[i], s.methods[i]
		var notes []string
		if q.Note != "" {
			notes = append(notes, q.Note)
		}
		if note := q.note(s.log); note != "" {
			notes = append(notes, note)
		}
		if err := s.pool.refusal(i); err != nil {
			notes = append(notes, fmt.Sprintf("extents are not registered, copies of them are staged: %v", err))
		}
		d.Note = strings.Join(notes, "; ")
		if k, ok := q.Provider.(columnKeeper); ok {
			d.Resident = k.Resident()
		}
		reply.Devices = append(reply.Devices, d)
		if k, ok := q.Provider.(keeper); ok {
			reply.Kept = max(reply.Kept, k.Kept()) // all devices share it
		}
	}
	if s.memo != nil {
		reply.Kept += s.memo.Used()
	}
	for _, u := range s.machine.Unused {
		reply.Devices = append(reply.Devices, &control.Device{Name: u.Name, Memory: u.Memory, Unused: u.Reason})
	}
	for _, l := range s.machine.Links {
		reply.Links = append(reply.Links, &control.Link{
			From: int32(l.From), To: int32(l.To), Kind: l.Kind, Gbps: l.GBps, LatencyNs: l.Latency.Nanoseconds(), Note: l.Note,
		})
	}
	return reply, nil
}

// Run implements control.WorkerServer.
func (s *server) Run(stream control.Worker_RunServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if first.GetStart() == nil || len(s.queues) == 0 {
		return status.Error(codes.InvalidArgument, "a run that does not start")
	}
	r := newTask(s, stream)
	done := r.run(first.GetStart())
	r.box.Put(func(m *control.FromWorker) { m.Done = done })
	err = r.box.Flush()
	if done.GetFailure() == control.Failure_FAILURE_DEVICE {
		s.endSoon(done.GetText())
	}
	return err
}

// keeper is a provider that keeps host memory for later joins.
type keeper interface {
	// Kept returns the bytes of host memory that no job has and that the process
	// keeps, for all devices.
	Kept() int64
}

// deviceLost marks errors from which only a new process recovers, once.
func deviceLost(p device.Provider, err error) error {
	if err == nil || errors.Is(err, control.ErrDevice) {
		return err
	}
	if lost := device.Lost(p, err); lost != nil {
		return fmt.Errorf("%w: %w", control.ErrDevice, lost)
	}
	return err
}

// shutdownGrace is how long the last message may take to be delivered.
const shutdownGrace = time.Second

// endSoon ends the process after shutdownGrace. The daemon ends it earlier once
// it has received the last message.
func (s *server) endSoon(why string) {
	s.log.Error("a device is lost; the worker exits", "error", why)
	time.AfterFunc(shutdownGrace, func() { os.Exit(3) })
}
