package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/sidecar/memory"
	"gpujoin/version"
)

// calibrationMost is the maximum memory of a calibration, and calibrationShare its
// maximum share of the memory that the daemon may use and of what the daemon's
// budget leaves of it. Sizes that do not fit are extrapolated from smaller joins.
const (
	calibrationMost       = 2 << 30
	calibrationShare      = 0.25
	calibrationSpareShare = 0.5
)

// Calibration measures how fast joins and aggregations are on this machine and saves the rates
// in a file. It measures on all of Go's processors, and counts the time of the whole
// process as the measurement's: nothing else may run in the process meanwhile.
type Calibration struct {
	Provider device.Provider
	Path     string // path of the file
	Cores    int    // that the rates are for
	Memory   int64  // bytes that the daemon may use
	Budget   int64  // bytes of these that joins may use meanwhile
	Log      *slog.Logger

	// Set by tests, in place of exec.Calibrate and exec.Spot.
	calibrate func() (costmodel.Rates, float64, error)
	spot      func() (float64, float64, error)
}

// Known returns the saved rates if they are for this machine, and cautious ones
// otherwise. Saved rates are RatesMeasured if they were measured after since.
func (c *Calibration) Known(since time.Time) (costmodel.Rates, RatesSource) {
	saved, found := c.read()
	switch {
	case !found:
		return costmodel.CautiousRates(), RatesDefault
	case saved.At.After(since):
		return saved.Rates, RatesMeasured
	}
	return saved.Rates, RatesSaved
}

// Update measures and saves the rates, unless the saved ones are for this machine and
// not in doubt. If there is too little memory to measure, or the saved ones were
// measured on a less busy machine, the file remains as it is.
func (c *Calibration) Update() error {
	saved, found := c.read()
	if found {
		doubt := c.doubt(&saved)
		if doubt == "" {
			return nil
		}
		c.Log.Info("measuring the rates of joins again", "reason", doubt)
	}
	m, err := c.measure()
	switch {
	case errors.Is(err, joincore.ErrBudget):
		c.Log.Warn("too little memory to measure joins; assuming rates", "available", c.memory())
		return nil
	case err != nil:
		return err
	case found && !saved.Quiet() && saved.Share > m.Share:
		return nil // the machine is busier now than it was then
	}
	return m.Save(c.Path)
}

// doubt returns why saved rates should be measured again. It returns "" if they
// need not be, or if the machine is busy, since measuring then takes many times
// as long and yields little.
func (c *Calibration) doubt(saved *costmodel.MeasuredRates) string {
	spot, share, err := run(c, c.spot, exec.Spot)
	if err != nil || share < costmodel.QuietShare || spot <= 0 {
		return ""
	}
	if !saved.Quiet() {
		return "the machine was busy when they were measured"
	}
	if was := saved.Rates.ProbeNS[exec.SpotPoint]; spot > costmodel.Implausible*was || was > costmodel.Implausible*spot {
		return fmt.Sprintf("a row takes %.1f ns and took %.1f", spot, was)
	}
	return ""
}

// Measure measures the rates and saves them, regardless of saved ones.
func (c *Calibration) Measure() (costmodel.MeasuredRates, error) {
	m, err := c.measure()
	if err == nil {
		err = m.Save(c.Path)
	}
	return m, err
}

func (c *Calibration) measure() (costmodel.MeasuredRates, error) {
	start := time.Now()
	rates, share, err := run(c, c.calibrate, exec.Calibrate)
	if err != nil {
		return costmodel.MeasuredRates{}, fmt.Errorf("calibration: %w", err)
	}
	c.Log.Info("calibrated", "took", time.Since(start), "share", share)
	if share < costmodel.QuietShare {
		c.Log.Warn("the machine was busy during calibration; the daemon will measure again when it starts on a quiet machine", "share", share)
	}
	return costmodel.MeasuredRates{Key: c.key(), At: start, Share: share, Rates: rates}, nil
}

func (c *Calibration) key() string {
	return fmt.Sprintf("%s %s, %d cores, %s", version.Text, c.Provider.Name(), c.Cores, processor())
}

func (c *Calibration) read() (m costmodel.MeasuredRates, found bool) {
	return costmodel.ReadMeasured(c.Path, c.key())
}

// memory returns the bytes that a calibration may use.
func (c *Calibration) memory() int64 {
	share := min(calibrationShare*float64(c.Memory), calibrationSpareShare*float64(max(0, c.Memory-c.Budget)))
	return int64(min(calibrationMost, share))
}

// run calls measure with the memory for a calibration, which it frees afterwards. hook, of
// tests, replaces measure if it is set.
func run[T any](c *Calibration, hook func() (T, float64, error), measure func(context.Context, device.Provider, joincore.Memory) (T, float64, error)) (measured T, share float64, err error) {
	if hook != nil {
		return hook()
	}
	budget := c.memory()
	store, err := memory.NewStore(1<<20, budget, 0)
	if err != nil {
		return measured, 0, err
	}
	defer store.Close()
	account, err := memory.NewBudget(budget).Reserve(context.Background(), store, 0, memory.Claim{}, 0)
	if err != nil {
		return measured, 0, err
	}
	defer account.Close()
	return measure(context.Background(), c.Provider, account)
}

// processor returns the processor's model name.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

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
