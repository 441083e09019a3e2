package worker

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/planjson"
	"gpujoin/sidecar/worker/control"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
)

// evil is a worker that says what no correct one does. It answers the first
// grant by it.
type evil struct {
	control.UnimplementedWorkerServer
	kind string
}

// serveEvil plays an evil worker.
func serveEvil(kind string) int {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: control.Handshake, VersionedPlugins: control.Plugins(&evil{kind: kind}),
		Logger: hclog.NewNullLogger(), GRPCServer: plugin.DefaultGRPCServer,
	})
	return 0
}

func (e *evil) Status(context.Context, *control.StatusRequest) (*control.StatusReply, error) {
	if e.kind == "mute" {
		time.Sleep(time.Minute)
	}
	return &control.StatusReply{Devices: make([]*control.Device, 1000)}, nil
}

func (e *evil) Run(stream control.Worker_RunServer) error {
	start, err := stream.Recv()
	if err != nil {
		return err
	}
	job, err := planjson.Decode(start.GetStart().GetJob())
	if err != nil {
		return err
	}
	columns := len(job.Plan.Output)
	want := &control.Want{Batch: 1, HeapMean: make([]float64, columns)}
	switch e.kind {
	case "leaves":
		return nil
	case "speaks on the handover":
		unix.Write(control.HandoverFD, []byte("hello"))
		<-stream.Context().Done()
	case "closes the handover":
		unix.Close(control.HandoverFD)
		<-stream.Context().Done()
	case "wants too few columns":
		want.HeapMean = want.HeapMean[1:]
	case "wants nothing sensible":
		want.HeapMean[0] = math.NaN()
	case "wants endlessly":
		var m control.FromWorker
		for i := range 5 * maxAsked {
			m.Wanted = append(m.Wanted, &control.Want{Batch: uint64(i), HeapMean: want.HeapMean})
		}
		if err := stream.Send(&m); err != nil {
			return err
		}
	}
	if err := stream.Send(&control.FromWorker{Wanted: []*control.Want{want}}); err != nil {
		return err
	}
	grant, err := stream.Recv()
	if err != nil {
		return err
	}
	rows := grant.GetGranted()[0].GetSegment().GetRows()
	emitted := &control.Emitted{Batch: 1, Rows: 1, Heap: make([]int64, columns)}
	reply := &control.FromWorker{Emitted: []*control.Emitted{emitted}}
	switch e.kind {
	case "emits nothing":
		emitted.Rows = 0
	case "emits too much":
		emitted.Rows = rows + 1
	case "emits another batch":
		emitted.Batch = 2
	case "emits twice":
		reply.Emitted = append(reply.Emitted, emitted)
	case "emits too long a heap":
		emitted.Heap[0] = 1
	case "emits a negative heap":
		emitted.Heap[0] = -1
	case "emits too few columns":
		emitted.Heap = emitted.Heap[1:]
	case "discards another batch":
		reply = &control.FromWorker{Discarded: []uint64{7}}
	case "wants the same batch again":
		reply = &control.FromWorker{Wanted: []*control.Want{want}}
	case "books wildly":
		for _, n := range []int64{-1, 0, math.MaxInt64, 1 << 40} {
			if err := stream.Send(&control.FromWorker{Book: &control.Booking{Bytes: n}}); err != nil {
				return err
			}
			answer, err := stream.Recv()
			if err != nil || len(answer.GetBooked()) != 1 || answer.GetBooked()[0].GetBytes() != 0 {
				return err
			}
		}
		reply = &control.FromWorker{Done: &control.Done{Failure: control.Failure_FAILURE_OTHER, Text: "was refused\nhere is a stack"}}
	}
	if err := stream.Send(reply); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// TestEvil: a worker that breaks the protocol is killed, and costs the job
// nothing but the worker.
func TestEvil(t *testing.T) {
	for kind, want := range map[string]string{
		"leaves":                     "the connection failed",
		"speaks on the handover":     "",
		"closes the handover":        "",
		"wants too few columns":      "a batch of",
		"wants nothing sensible":     "NaN bytes per row",
		"wants endlessly":            "or too many",
		"wants the same batch again": "requested batch 1 twice",
		"emits nothing":              "0 rows",
		"emits too much":             "in a batch of",
		"emits another batch":        "batch 2 was not granted to it",
		"emits twice":                "batch 1 was not granted to it",
		"emits too long a heap":      "1 bytes in a heap of 0",
		"emits a negative heap":      "-1 bytes in a heap",
		"emits too few columns":      "rows with",
		"discards another batch":     "batch 7 was not granted to it",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := start(t, "evil "+kind, func(config *Config) {
				config.Timing.RestartFirst, config.Timing.RestartMost = time.Hour, time.Hour
			}).ready()
			if n := len(r.remote.Devices()); n != maxDevices {
				t.Errorf("%d devices", n)
			}
			pid := r.pid()
			plan, inputs := explosion(100, 10)
			sink := newSink(r.account, plan, 100)
			sink.window = make(chan struct{}, 4)
			job, free := r.job(plan, inputs, sink)
			defer free()
			err := r.remote.Run(t.Context(), job, &joincore.Stats{})
			if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), want) || sink.open != 0 {
				t.Errorf("%v, %d batches open", err, sink.open)
			}
			if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
				t.Error("the process is still there: ", err)
			}
		})
	}
}

// TestRefusedBookings: a worker that asks for more memory than there is gets
// none, and its error is told in one line.
func TestRefusedBookings(t *testing.T) {
	r := start(t, "evil books wildly", nil).ready()
	plan, inputs := explosion(100, 10)
	job, free := r.job(plan, inputs, newSink(r.account, plan, 100))
	defer free()
	err := r.remote.Run(t.Context(), job, &joincore.Stats{})
	if err == nil || !strings.HasSuffix(err.Error(), "was refused") {
		t.Error(err)
	}
}

// TestMute: a worker that never gives a sign of life is not ready.
func TestMute(t *testing.T) {
	r := start(t, "evil mute", func(config *Config) {
		config.Timing.First = 100 * time.Millisecond
		config.Timing.RestartFirst, config.Timing.RestartMost = time.Hour, time.Hour
	})
	r.eventually("it is given up", func() bool {
		return strings.Contains(r.remote.Devices()[0].Reason, "no answer to the first health check")
	})
}
