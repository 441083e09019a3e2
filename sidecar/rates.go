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
	"runtime"
	"strings"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/choose"
	"gpujoin/joincore/device"
	"gpujoin/sidecar/memory"
)

// typicalRates are assumed where the machine is not measured: those of two
// cores of a virtual machine.
var typicalRates = choose.Rates{
	BuildNS:  [choose.Points]float64{90, 70, 30, 30, 22, 20, 26, 34},
	ProbeNS:  [choose.Points]float64{11, 12, 13, 16, 18, 20, 23, 28},
	ColumnNS: 0.4,
	NPJRows:  1 << 17,
}

// savedRates is the content of the file of measured rates.
type savedRates struct {
	Key   string       `json:"key"` // what they were measured with
	Rates choose.Rates `json:"rates"`
}

// calibrationMost is the memory that calibration uses at most, and
// calibrationShare its part of the memory that the daemon may use: what does
// not fit is not measured, and the trend of smaller joins goes on.
const (
	calibrationMost  = 2 << 30
	calibrationShare = 0.25
)

// Rates returns the rates of this machine: those in the file at path if they
// were measured with the same processor and version, else measured now and
// saved there. calibrate false returns typical ones, and so does too little
// memory: available bytes are what the daemon may use.
func Rates(p device.Provider, path string, calibrate bool, available int64, log *slog.Logger) (choose.Rates, error) {
	if !calibrate {
		return typicalRates, nil
	}
	key := fmt.Sprintf("%s %s, %d cores, %s", Version, p.Name(), runtime.GOMAXPROCS(0), processor())
	var saved savedRates
	if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &saved) == nil &&
		saved.Key == key && sane(&saved.Rates) {
		return saved.Rates, nil
	}
	start := time.Now()
	rates, err := measure(p, int64(min(calibrationMost, calibrationShare*float64(available))))
	if errors.Is(err, joincore.ErrBudget) {
		log.Warn("too little memory to measure joins: typical rates are assumed", "available", available)
		return typicalRates, nil
	}
	if err != nil {
		return rates, fmt.Errorf("calibration: %w", err)
	}
	log.Info("calibrated", "took", time.Since(start))
	text, err := json.MarshalIndent(savedRates{key, rates}, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o600)
	}
	if err != nil { // the next start measures again
		log.Warn("could not save measured rates", "error", err)
	}
	return rates, nil
}

// measure measures p's rates within budget bytes.
func measure(p device.Provider, budget int64) (choose.Rates, error) {
	store, err := memory.NewStore(1<<20, budget, 0)
	if err != nil {
		return choose.Rates{}, err
	}
	defer store.Close()
	account, err := memory.NewBudget(budget).Reserve(context.Background(), store, 0, memory.Claim{}, 0)
	if err != nil {
		return choose.Rates{}, err
	}
	defer account.Close()
	return choose.Calibrate(context.Background(), p, account)
}

// sane says whether r can be rates: the file may have been edited.
func sane(r *choose.Rates) bool {
	for i := range choose.Points {
		for _, ns := range []float64{r.BuildNS[i], r.ProbeNS[i], r.ColumnNS} {
			if !(ns > 0) || math.IsInf(ns, 0) || ns > 1e6 {
				return false
			}
		}
	}
	return r.NPJRows >= 0
}

// processor names the processor's model.
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
