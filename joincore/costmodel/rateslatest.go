package costmodel

import (
	"os"
	"sync"
	"time"
)

// LatestRates holds the most recently measured rates. It rereads the file when the
// file has changed. It is safe for concurrent use.
type LatestRates struct {
	path string

	mu      sync.Mutex
	changed time.Time
	rates   *DeviceRates
}

// NewLatestRates returns a LatestRates for the file at path, which need not exist yet.
func NewLatestRates(path string) *LatestRates {
	return &LatestRates{path: path, rates: &DefaultDeviceRates}
}

// Rates returns the latest rates, or defaults if nothing was measured.
func (l *LatestRates) Rates() *DeviceRates {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := os.Stat(l.path)
	if err != nil || info.ModTime().Equal(l.changed) {
		return l.rates
	}
	l.changed = info.ModTime()
	if list, _ := ReadRates(l.path); len(list) > 0 { // the check command reports errors in the file
		l.rates = &list[0].Rates
	}
	return l.rates
}
