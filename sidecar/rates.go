package sidecar

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

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

// calibrationBudget is the memory that calibration may use.
const calibrationBudget = 2 << 30

// Rates returns the rates of this machine: those in the file at path if they
// were measured with the same processor and version, else measured now and
// saved there. calibrate false returns typical ones.
func Rates(p device.Provider, path string, calibrate bool, log *slog.Logger) (choose.Rates, error) {
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
	rates, err := measure(p)
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

func measure(p device.Provider) (choose.Rates, error) {
	store, err := memory.NewStore(1<<20, calibrationBudget, 0)
	if err != nil {
		return choose.Rates{}, err
	}
	defer store.Close()
	account, err := memory.NewBudget(calibrationBudget).Reserve(context.Background(), store, 0, memory.Claim{}, 0)
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
