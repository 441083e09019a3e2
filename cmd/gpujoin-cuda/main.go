//go:build cuda

// Command gpujoin-cuda is the worker that joins on NVIDIA GPUs. The daemon
// starts it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"gpujoin/joincore/cuda"
	"gpujoin/sidecar/backend/child"
	"gpujoin/sidecar/config"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		os.Exit(bench(os.Args[2:], os.Stdout, os.Stderr))
	}
	memory := flag.String("memory", "90%", "memory of each device for joins: a size, or a share of the device's")
	rates := flag.String("rates", "", "file of devices' measured rates; none: defaults serve")
	flag.Parse()
	os.Exit(child.Main(func(log *slog.Logger) ([]child.Device, error) { return open(*memory, *rates, log) }))
}

// open opens all devices that this process may see.
func open(memory, rates string, log *slog.Logger) ([]child.Device, error) {
	infos, err := cuda.Devices()
	if err != nil {
		return nil, err
	}
	if len(infos) == 0 {
		return nil, errors.New("the driver knows no device")
	}
	var devices []child.Device
	for _, info := range infos {
		budget, err := config.ParseSize(memory, info.Memory)
		if err != nil {
			return nil, err
		}
		p, err := cuda.New(cuda.Config{Ordinal: info.Ordinal, Budget: budget})
		if err != nil {
			return nil, fmt.Errorf("device %d, %s: %w", info.Ordinal, info.Name, err)
		}
		useRates(p, rates, log)
		// The first job gets most of the memory. Others must not wait for it to
		// end: it may be a cursor that nobody fetches.
		devices = append(devices, child.Device{Provider: p, Name: info.Name, Memory: info.Memory, Budget: budget, Jobs: 3})
	}
	return devices, nil
}
