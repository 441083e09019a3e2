package sidecar

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/sidecar/memory"

	"github.com/google/renameio/v2"
)

// typicalRates were measured on two cores of a virtual machine.
var typicalRates = makeTypicalRates()

func makeTypicalRates() costmodel.Rates {
	r := costmodel.Rates{
		BuildNS:  [costmodel.Points]float64{90, 70, 30, 30, 22, 20, 26, 34},
		ProbeNS:  [costmodel.Points]float64{11, 12, 13, 16, 18, 20, 23, 28},
		ColumnNS: 0.4,
		NPJRows:  1 << 17,
	}
	r.AssumeGroups()
	return r
}

// TypicalRates returns the rates to assume for a machine that is never measured.
func TypicalRates() costmodel.Rates { return typicalRates }

// cautiousRates returns the rates to assume until this machine is measured. They
// exceed typical ones by the factor by which saved rates may be wrong: to run a join
// natively for some seconds costs less than a plan that is slower in the daemon, and
// PostgreSQL may keep a plan for as long as a session lasts.
func cautiousRates() costmodel.Rates {
	r := typicalRates
	for _, ns := range times(&r) {
		*ns *= implausible
	}
	return r
}

// times returns pointers to all times of r.
func times(r *costmodel.Rates) []*float64 {
	list := []*float64{&r.ColumnNS, &r.FunctionNS, &r.OperationNS, &r.ConditionNS}
	for _, points := range [][]float64{r.BuildNS[:], r.ProbeNS[:], r.GroupNS[:]} {
		for i := range points {
			list = append(list, &points[i])
		}
	}
	return list
}

// calibrationMost is the maximum memory of a calibration, and calibrationShare its
// maximum share of the memory that the daemon may use and of what the daemon's
// budget leaves of it. Sizes that do not fit are extrapolated from smaller joins.
const (
	calibrationMost       = 2 << 30
	calibrationShare      = 0.25
	calibrationSpareShare = 0.5
)

// quietShare is the share of its cores' time that a measurement must get to be
// trusted. A smaller share means that other processes kept the machine busy.
const quietShare = 0.7

// implausible is the factor by which a rate measured at the start may differ
// from the saved one.
const implausible = 2

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

	hooks testHooks
}

// MeasuredRates is the content of the rates file.
type MeasuredRates struct {
	Key   string          `json:"key"`   // version, provider, cores and processor that the rates apply to
	At    time.Time       `json:"at"`    // time of the measurement
	Share float64         `json:"share"` // share of the cores' time that the measurement got: 1 on an idle machine
	Rates costmodel.Rates `json:"rates"`
}

// Quiet reports whether the machine was idle enough for the rates to be
// trusted.
func (m *MeasuredRates) Quiet() bool { return m.Share >= quietShare }

// Known returns the saved rates if they are for this machine, and cautious ones
// otherwise. Saved rates are RatesMeasured if they were measured after since.
func (c *Calibration) Known(since time.Time) (costmodel.Rates, RatesSource) {
	saved, found := c.read()
	switch {
	case !found:
		return cautiousRates(), RatesDefault
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
	return c.save(&m)
}

// doubt returns why saved rates should be measured again. It returns "" if they
// need not be, or if the machine is busy, since measuring then takes many times
// as long and yields little.
func (c *Calibration) doubt(saved *MeasuredRates) string {
	spot, share, err := c.measureSpot()
	if err != nil || share < quietShare || spot <= 0 {
		return ""
	}
	if !saved.Quiet() {
		return "the machine was busy when they were measured"
	}
	if was := saved.Rates.ProbeNS[exec.SpotPoint]; spot > implausible*was || was > implausible*spot {
		return fmt.Sprintf("a row takes %.1f ns and took %.1f", spot, was)
	}
	return ""
}

// Measure measures the rates and saves them, regardless of saved ones.
func (c *Calibration) Measure() (MeasuredRates, error) {
	m, err := c.measure()
	if err == nil {
		err = c.save(&m)
	}
	return m, err
}

func (c *Calibration) measure() (MeasuredRates, error) {
	start := time.Now()
	rates, share, err := c.measureAll()
	if err != nil {
		return MeasuredRates{}, fmt.Errorf("calibration: %w", err)
	}
	c.Log.Info("calibrated", "took", time.Since(start), "share", share)
	if share < quietShare {
		c.Log.Warn("the machine was busy during calibration; the daemon will measure again when it starts on a quiet machine", "share", share)
	}
	return MeasuredRates{c.key(), start, share, rates}, nil
}

func (c *Calibration) key() string {
	return fmt.Sprintf("%s %s, %d cores, %s", Version, c.Provider.Name(), c.Cores, processor())
}

func (c *Calibration) read() (m MeasuredRates, found bool) {
	text, err := os.ReadFile(c.Path)
	if err != nil || json.Unmarshal(text, &m) != nil || m.Key != c.key() || !sane(&m.Rates) {
		return m, false
	}
	return m, true
}

// save replaces the file as a whole or not at all.
func (c *Calibration) save(m *MeasuredRates) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(c.Path, append(text, '\n'), 0o600, renameio.WithTempDir(filepath.Dir(c.Path)))
}

func (c *Calibration) measureAll() (rates costmodel.Rates, share float64, err error) {
	if c.hooks.calibrate != nil {
		return c.hooks.calibrate()
	}
	err = c.withMemory(func(mem joincore.Memory) (err error) {
		rates, share, err = exec.Calibrate(context.Background(), c.Provider, mem)
		return err
	})
	return rates, share, err
}

func (c *Calibration) measureSpot() (probeNS, share float64, err error) {
	if c.hooks.spot != nil {
		return c.hooks.spot()
	}
	err = c.withMemory(func(mem joincore.Memory) (err error) {
		probeNS, share, err = exec.Spot(context.Background(), c.Provider, mem)
		return err
	})
	return probeNS, share, err
}

// memory returns the bytes that a calibration may use.
func (c *Calibration) memory() int64 {
	share := min(calibrationShare*float64(c.Memory), calibrationSpareShare*float64(max(0, c.Memory-c.Budget)))
	return int64(min(calibrationMost, share))
}

// withMemory calls use with the memory for a calibration and frees it
// afterwards.
func (c *Calibration) withMemory(use func(joincore.Memory) error) error {
	budget := c.memory()
	store, err := memory.NewStore(1<<20, budget, 0)
	if err != nil {
		return err
	}
	defer store.Close()
	account, err := memory.NewBudget(budget).Reserve(context.Background(), store, 0, memory.Claim{}, 0)
	if err != nil {
		return err
	}
	defer account.Close()
	return use(account)
}

// sane reports whether r holds plausible rates. The file may have been edited.
func sane(r *costmodel.Rates) bool {
	for _, ns := range times(r) {
		if !(*ns > 0) || math.IsInf(*ns, 0) || *ns > 1e6 {
			return false
		}
	}
	return r.NPJRows >= 0
}

// processor returns the processor's model name.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		name, value, ok := strings.Cut(s.Text(), ":")
		if ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
