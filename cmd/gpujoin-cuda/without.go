//go:build !cuda

// Command gpujoin-cuda is the worker that joins on NVIDIA GPUs. The daemon
// starts it.
package main

import (
	"errors"
	"log/slog"
	"os"

	"gpujoin/sidecar/backend/child"
)

func main() {
	os.Exit(child.Main(func(*slog.Logger) ([]child.Device, error) {
		return nil, errors.New("this gpujoin-cuda was built without CUDA; make cuda builds one with it")
	}))
}
