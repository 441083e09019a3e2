package devicerates

import (
	"os"
	"sync"
	"time"

	"gpujoin/joincore/costmodel"
)

// Latest holds the most recently measured rates. It rereads the file when the
// file has changed. It is safe for concurrent use.
type Latest struct {
	path string

	mu      sync.Mutex
	changed time.Time
	rates   *costmodel.DeviceRates
}

// NewLatest returns a Latest for the file at path, which need not exist yet.
func NewLatest(path string) *Latest {
	return &Latest{path: path, rates: &costmodel.DefaultDeviceRates}
}

// Rates returns the latest rates, or defaults if nothing was measured.
func (l *Latest) Rates() *costmodel.DeviceRates {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := os.Stat(l.path)
	if err != nil || info.ModTime().Equal(l.changed) {
		return l.rates
	}
	l.changed = info.ModTime()
	if list, _ := Read(l.path); len(list) > 0 { // the check command reports errors in the file
		l.rates = &list[0].Rates
	}
	return l.rates
}
