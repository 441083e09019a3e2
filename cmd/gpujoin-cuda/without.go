//go:build !cuda

// Command gpujoin-cuda is the worker that joins on NVIDIA GPUs. The daemon
// starts it.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"gpujoin/sidecar/worker/child"
)

var errWithout = errors.New("this gpujoin-cuda was built without CUDA; build it with make cuda")

func main() {
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		fmt.Fprintln(os.Stderr, errWithout)
		os.Exit(1)
	}
	os.Exit(child.Main(func(*slog.Logger) (*child.Machine, error) { return nil, errWithout }))
}
