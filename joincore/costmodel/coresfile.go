package costmodel

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
)

// TypicalRates were measured on two cores of a virtual machine. They apply to a machine
// that is never measured.
var TypicalRates = makeTypicalRates()

func makeTypicalRates() Rates {
	r := Rates{
		BuildNS:  [Points]float64{90, 70, 30, 30, 22, 20, 26, 34},
		ProbeNS:  [Points]float64{11, 12, 13, 16, 18, 20, 23, 28},
		ColumnNS: 0.4,
		NPJRows:  1 << 17,
		Machine:  TypicalMachine,
	}
	r.AssumeGroups()
	return r
}

// Implausible is the factor by which a rate may differ from the saved one.
const Implausible = 2

// CautiousRates returns the rates to assume until this machine is measured. They
// exceed typical ones of the daemon's work by the factor by which saved rates may be wrong: to run a join
// natively for some seconds costs less than a plan that is slower in the daemon, and
// PostgreSQL may keep a plan for as long as a session lasts.
func CautiousRates() Rates {
	r := TypicalRates
	for _, ns := range r.times() {
		*ns *= Implausible
	}
	return r
}

// times returns pointers to all times of r.
func (r *Rates) times() []*float64 {
	list := []*float64{&r.ColumnNS, &r.FunctionNS, &r.OperationNS, &r.ConditionNS}
	for _, points := range [][]float64{r.BuildNS[:], r.ProbeNS[:], r.GroupNS[:]} {
		for i := range points {
			list = append(list, &points[i])
		}
	}
	return list
}

// plausible reports whether r can hold measured rates. The file may have been edited.
func (r *Rates) plausible() bool {
	for _, ns := range r.times() {
		if !(*ns > 0) || math.IsInf(*ns, 0) || *ns > 1e6 {
			return false
		}
	}
	return r.NPJRows >= 0 && r.Machine.plausible()
}

// QuietShare is the share of its cores' time that a measurement must get to be
// trusted. A smaller share means that other processes kept the machine busy.
const QuietShare = 0.7

// MeasuredRates is the content of the file with the rates of the machine's cores.
type MeasuredRates struct {
	Key   string    `json:"key"`   // version, provider, cores and processor that the rates apply to
	At    time.Time `json:"at"`    // time of the measurement
	Share float64   `json:"share"` // share of the cores' time that the measurement got: 1 on an idle machine
	Rates Rates     `json:"rates"`
}

// Quiet reports whether the machine was idle enough for the rates to be
// trusted.
func (m *MeasuredRates) Quiet() bool { return m.Share >= QuietShare }

// ReadMeasured returns the rates in the file at path. found is false if there are none,
// if they have another key, or if they are not plausible.
func ReadMeasured(path, key string) (m MeasuredRates, found bool) {
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &m) != nil || m.Key != key || !m.Rates.plausible() {
		return m, false
	}
	return m, true
}

// Save replaces the file at path as a whole or not at all.
func (m *MeasuredRates) Save(path string) error { return replaceFile(path, m) }

// replaceFile writes v as JSON to the file at path. Readers see either the old file or
// the new one.
func replaceFile(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(path, append(text, '\n'), 0o600, renameio.WithTempDir(filepath.Dir(path)))
}
