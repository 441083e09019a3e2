package sidecar

import (
	"sync/atomic"

	"gpujoin/joincore/costmodel"
)

// RatesSource says where rates come from.
type RatesSource string

// The sources of rates.
const (
	RatesDefault  RatesSource = "default"  // assumed
	RatesSaved    RatesSource = "saved"    // measured on this machine before the daemon started
	RatesMeasured RatesSource = "measured" // measured since
)

// Rates are the rates of joins that a daemon uses: assumed or saved ones at
// first, and measured ones once it has them. They are safe for concurrent use.
type Rates struct {
	current atomic.Pointer[sourcedRates]
}

type sourcedRates struct {
	costmodel.Rates
	source RatesSource
}

// NewRates returns rates with a first content.
func NewRates(r costmodel.Rates, source RatesSource) *Rates {
	rates := &Rates{}
	rates.set(r, source)
	return rates
}

func (r *Rates) set(now costmodel.Rates, source RatesSource) {
	r.current.Store(&sourcedRates{now, source})
}

// Now returns the rates to use now. The caller must not change them.
func (r *Rates) Now() *costmodel.Rates { return &r.current.Load().Rates }

// measure has the rates measured and publishes them. Planners then read a new
// status file.
func (srv *Server) measure() {
	defer srv.background.Done()
	now, source, err := srv.options.Measure(srv.ctx)
	if srv.ctx.Err() != nil {
		return
	}
	if err == nil {
		srv.options.Rates.set(now, source)
		err = srv.status.update(srv.options.status())
	}
	if err != nil {
		srv.log.Error("could not measure the rates of joins", "error", err)
	}
	srv.log.Info("the rates of joins are known", "source", srv.options.Rates.current.Load().source)
}
