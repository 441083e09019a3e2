// Command worker is a worker for tests on machines without a GPU: it replaces
// gpujoin-cuda and serves the cpu provider in its own process.
package main

import (
	"log/slog"
	"os"

	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/run"
	"gpujoin/sidecar/executor/worker/server"
)

func main() {
	os.Exit(server.Main(func(*slog.Logger) ([]server.Device, error) {
		return []server.Device{{
			Provider: cpu.New(), Name: "no GPU at all", Memory: 1 << 30, Budget: 1 << 29, Jobs: 2,
			Options: run.Options{Device: device.Options{Streams: 2}},
		}}, nil
	}))
}
