package child

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"time"

	"gpujoin/joincore/device"
	"gpujoin/sidecar/worker/control"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// server handles the daemon's requests.
type server struct {
	control.UnimplementedWorkerServer
	machine *Machine
	queues  []*deviceQueue
	pool    *pool
	log     *slog.Logger
}

func newServer(machine *Machine, log *slog.Logger) *server {
	s := &server{machine: machine, log: log}
	machine.Jobs.Memory = math.MaxInt64
	for _, d := range machine.Devices {
		machine.Jobs.Memory = min(machine.Jobs.Memory, d.Budget)
	}
	registrars := make([]*registrar, len(machine.Devices))
	for i, d := range machine.Devices {
		s.queues = append(s.queues, newDeviceQueue(d))
		if r, ok := d.Provider.(Registrar); ok {
			registrars[i] = &registrar{Registrar: r}
		}
	}
	s.pool = newPool(registrars, log)
	return s
}

// Status implements control.WorkerServer.
func (s *server) Status(context.Context, *control.StatusRequest) (*control.StatusReply, error) {
	reply := &control.StatusReply{}
	for i, q := range s.queues {
		d := q.status()
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
		reply.Devices = append(reply.Devices, d)
		if k, ok := q.Provider.(keeper); ok {
			reply.Kept = max(reply.Kept, k.Kept()) // all devices share it
		}
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
