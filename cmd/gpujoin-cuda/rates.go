//go:build cuda

package main

import (
	"context"
	"log/slog"
	"time"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda"
)

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
