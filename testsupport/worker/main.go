// Command worker is a worker for tests on machines without a GPU: it replaces
// gpujoin-cuda and serves simulated devices, on which the cpu provider joins. There is one
// for each device that CUDA_VISIBLE_DEVICES lists, or a single one. Jobs run on all idle
// devices. A number below 0 is a device that does not open; on one with the suffix
// ":memory", every job fails because there is too little memory. One with the suffix ":peer"
// cannot read the memory of other devices: it fails when a job on several devices has begun,
// and executes jobs alone. One with the suffix ":lost=FILE" is lost, as if access to another
// device's memory were taken away while its kernels store there, by the next job on several
// devices that begins while FILE exists; it removes FILE. One with the suffix ":hang=FILE"
// likewise hangs in the next job, as in a kernel that does not end, until the process does.
// One with the suffix ":words" executes whole steps, of plans that read integers only. One with
// the suffix ":divide" partitions the two inputs of a join together with others. One with
// the suffix ":team" executes whole steps, and exchanges rows with the other devices of a job; with
// ":team=FILE", if all have such a suffix and FILE exists when they meet, they remove FILE and
// hang. What devices have read stays on them. The flags --strategy, --transfer-method and --peer-access are
// those of gpujoin-cuda; others are ignored.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/sidecar/worker/child"
	"gpujoin/testsupport/bulk"
)

func main() {
	os.Exit(child.Main(func(*slog.Logger) (*child.Machine, error) {
		m, err := machine(os.Getenv("CUDA_VISIBLE_DEVICES"), reading{argument("--transfer-method")})
		if name := argument("--strategy"); err == nil && name != "" {
			m.Jobs.Strategy, err = costmodel.ParseStrategy(name)
		}
		return m, err
	}))
}

// argument returns the value of a flag, or "".
func argument(name string) string {
	if i := slices.Index(os.Args, name); i >= 0 && i+1 < len(os.Args) {
		return os.Args[i+1]
	}
	return ""
}

// linkGB is the rate of copies between two devices, in GB/s, by which their work is predicted.
const linkGB = 10

func machine(visible string, reads reading) (*child.Machine, error) {
	m := &child.Machine{Codes: 64 << 20, Jobs: child.JobDevices{Always: true, PeerGB: linkGB}}
	for text := range strings.SplitSeq(visible, ",") {
		text, fault, _ := strings.Cut(text, ":")
		number, err := strconv.Atoi(text)
		if err == nil && number < 0 {
			m.Unused = append(m.Unused, child.Unused{Name: "no GPU at all", Memory: 1 << 30, Reason: fmt.Sprintf("device %d does not open", number)})
			continue
		}
		n := len(m.Devices)
		fault, file, _ := strings.Cut(fault, "=")
		var p device.Provider = &simulated{Provider: cpu.New(), number: n, fault: fault, file: file, reading: reads}
		switch fault {
		case "memory":
			p = full{p}
		case "words":
			p = words{&simulated{Provider: &bulk.Provider{Inner: cpu.New()}, number: n, reading: reads}}
		case "divide":
			p = dividing{&simulated{Provider: cpu.New(), number: n, reading: reads}}
		case "team":
			p = newExchanging(n, file, reads, argument("--peer-access") == "off")
		}
		m.Devices = append(m.Devices, child.Device{
			Provider: p, Name: "no GPU at all", Memory: 1 << 30, Budget: 1 << 29, Jobs: 2,
			Options: exec.Options{Device: device.Options{Streams: 2}},
		})
		for other := range n {
			for _, l := range [][2]int{{other, n}, {n, other}} {
				m.Links = append(m.Links, child.Link{From: l[0], To: l[1], Kind: "simulated", GBps: linkGB, Latency: 10 * time.Microsecond})
			}
		}
	}
	if len(m.Devices) == 0 {
		return nil, errors.New("no device opens")
	}
	return m, nil
}

// full is a device without memory for jobs.
type full struct{ device.Provider }

func (full) Open(joincore.Memory, device.Options) (device.Device, error) {
	return nil, fmt.Errorf("%w: device memory", joincore.ErrBudget)
}
