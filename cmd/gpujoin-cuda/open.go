//go:build cuda

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/links"
	"gpujoin/sidecar/config"
	"gpujoin/sidecar/worker/child"
)

// settings are the worker's flags.
type settings struct {
	memory  string // of joins on each device
	keep    string // of that, columns that stay on each device
	slabs   int64  // bytes of page-locked host memory, at most; 0: the provider's default
	codes   int64  // bytes of codes of texts that stay in host memory, at most
	rates   string // file of measured rates; "": default rates
	devices int    // of a job, at most; 0: as many as pay
	// strategy is how devices execute a join together, where they can.
	strategy costmodel.Strategy
	method   links.Method // by which inputs reach a device; "": as suits the platform
	peers    string       // auto: devices access each other's memory where they can; off: never
	mesh     string       // file of how devices are connected; "": not to be found out
	always   bool         // jobs run on all idle devices, for tests
	each     int          // how often each device is opened, for tests
}

// peersOff is the value of the flag by which devices do not access each other's memory.
const peersOff = "off"

// apart reports whether devices do not access each other's memory, whether they can or not.
func (s *settings) apart() bool { return s.peers == peersOff }

// open opens all devices that are visible to this process and for which the kernels
// are written. Those that do not open are left out; it returns an error if none is left.
func open(s settings, log *slog.Logger) (*child.Machine, error) {
	infos, err := driver.Devices()
	if err != nil {
		return nil, err
	}
	if len(infos) == 0 {
		return nil, errors.New("the driver reports no device")
	}
	connected := connections(s, infos, log) // measures idle devices, so before they are opened
	m := &child.Machine{Codes: s.codes, Jobs: child.JobDevices{Most: s.devices, Strategy: s.strategy, Always: s.always}}
	var failed error
	var providers []*cuda.Provider
	infos = slices.Repeat(infos, max(s.each, 1))
	for i, info := range infos {
		d, p, err := openDevice(s, info, log, ordinals(slices.Delete(slices.Clone(infos), i, i+1)))
		if err != nil {
			err = fmt.Errorf("device %d, %s: %w", info.Ordinal, info.Name, err)
			log.Warn("device is not used", "error", err)
			failed = errors.Join(failed, err)
			m.Unused = append(m.Unused, child.Unused{Name: info.Name, Memory: info.Memory, Reason: err.Error()})
			continue
		}
		useRates(p, s.rates, log)
		rates := p.Rates()
		d.Rates = &rates
		m.Devices, providers = append(m.Devices, d), append(providers, p)
	}
	if m.Devices == nil {
		return nil, errors.New(strings.ReplaceAll(failed.Error(), "\n", "; ")) // status reports show one line
	}
	connected.describe(m, providers)
	return m, nil
}

func openDevice(s settings, info driver.Info, log *slog.Logger, peers []int) (child.Device, *cuda.Provider, error) {
	budget, err := config.ParseSize(s.memory, info.Memory)
	if err != nil {
		return child.Device{}, nil, err
	}
	if s.devices == 1 {
		peers = nil
	}
	if _, err := config.ParseSize(s.keep, budget); err != nil {
		return child.Device{}, nil, err
	}
	apart := ""
	if s.apart() {
		apart = "cuda_peer_access is off"
	}
	p, err := cuda.New(cuda.Config{
		Ordinal: info.Ordinal, Budget: budget, SlabBytes: s.slabs, Peers: peers, Apart: apart, Method: s.method,
		Keep: func(mapped int64) int64 {
			n, _ := config.ParseSize(s.keep, mapped) // it is a size
			return n
		},
		Uncompiled: func(err error) {
			log.Warn("an aggregation keeps the general kernel", "device", info.Name, "error", err)
		},
	})
	if err != nil {
		return child.Device{}, nil, err
	}
	// The first job gets most of the memory. Others must not have to wait for its
	// end: it may belong to a cursor that stays open.
	return child.Device{Provider: p, Name: info.Name, Memory: info.Memory, Budget: budget, Jobs: 3}, p, nil
}

func ordinals(infos []driver.Info) (list []int) {
	for _, info := range infos {
		list = append(list, info.Ordinal)
	}
	return list
}

// useRates sets the rates by which joins on a device are chosen: those in the file at
// path if they still hold, otherwise measured now and saved there. Without a file, or
// if measuring fails, the defaults apply. The device must be idle.
func useRates(p *cuda.Provider, path string, log *slog.Logger) {
	log = log.With("device", p.Info().Ordinal, "name", p.Info().Name)
	if path == "" {
		log.Info("using default rates: the device is not to be measured")
		return
	}
	saved, ok, err := costmodel.FindRates(path, p.RatesKey())
	if err != nil {
		log.Warn("could not read saved rates of devices", "error", err)
	}
	if ok {
		p.UseRates(saved.Rates)
		log.Info("rates of the device", "from", path, "measured", saved.At)
		return
	}
	start := time.Now()
	rates, err := p.MeasureRates(context.Background())
	if err != nil {
		log.Warn("could not measure the device; using default rates", "error", err)
		return
	}
	p.UseRates(rates)
	log.Info("rates of the device", "from", "joins", "took", time.Since(start))
	entry := costmodel.SavedRates{Key: p.RatesKey(), Device: p.Info().Name, At: start.UTC(), Rates: rates}
	if err := costmodel.SaveRates(path, entry); err != nil { // the next start measures again
		log.Warn("could not save the rates of the device", "error", err)
	}
}
