//go:build cuda

package main

import (
	"errors"
	"fmt"
	"log/slog"

	"gpujoin/joincore/cuda"
	"gpujoin/sidecar/config"
	"gpujoin/sidecar/executor/worker/server"
)

// open opens all devices that are visible to this process and for which the kernels
// are written. It returns an error if there is none.
func open(memory, rates string, log *slog.Logger) ([]server.Device, error) {
	infos, err := cuda.Devices()
	if err != nil {
		return nil, err
	}
	if len(infos) == 0 {
		return nil, errors.New("the driver reports no device")
	}
	var devices []server.Device
	var unfit error
	for _, info := range infos {
		budget, err := config.ParseSize(memory, info.Memory)
		if err != nil {
			return nil, err
		}
		p, err := cuda.New(cuda.Config{Ordinal: info.Ordinal, Budget: budget})
		if err != nil {
			err = fmt.Errorf("device %d, %s: %w", info.Ordinal, info.Name, err)
		}
		if errors.Is(err, cuda.ErrUnfit) { // other devices may be usable
			log.Warn("device is not used", "error", err)
			if unfit != nil {
				err = fmt.Errorf("%w; %w", unfit, err)
			}
			unfit = err
			continue
		}
		if err != nil {
			return nil, err
		}
		useRates(p, rates, log)
		// The first job gets most of the memory. Others must not have to wait for its
		// end: it may belong to a cursor that stays open.
		devices = append(devices, server.Device{Provider: p, Name: info.Name, Memory: info.Memory, Budget: budget, Jobs: 3})
	}
	if devices == nil {
		return nil, unfit
	}
	return devices, nil
}
