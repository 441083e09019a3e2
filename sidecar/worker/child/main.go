// Package child implements the worker process, which the daemon starts to
// execute joins on devices that need their own libraries or failure domain. It
// serves any device.Provider.
//
// The worker owns no lasting state. Rows are in extents, which the daemon
// passes once; the worker keeps them mapped, and registered with the devices,
// until the daemon drops them. The worker books its private memory with the
// daemon before it maps it, so that one budget covers both processes. It exits
// when the daemon does, and when a device is lost, because only a new process
// can recover the device.
package child

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"time"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/sidecar/worker/control"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
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
	stderr := os.Stderr // go-plugin replaces it
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
