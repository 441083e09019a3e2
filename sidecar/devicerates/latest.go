package devicerates

import (
	"os"
	"sync"
	"time"

	"gpujoin/joincore/costmodel"
)

// Latest is the rates that were measured last, read again when the file has
// changed. It is safe for concurrent use.
type Latest struct {
	path string

	mu      sync.Mutex
	changed time.Time
	rates   *costmodel.DeviceRates
}

// NewLatest returns those of the file, which need not exist yet.
func NewLatest(path string) *Latest {
	return &Latest{path: path, rates: &costmodel.DefaultDeviceRates}
}

// Rates returns them; defaults, where nothing was measured.
func (l *Latest) Rates() *costmodel.DeviceRates {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := os.Stat(l.path)
	if err != nil || info.ModTime().Equal(l.changed) {
		return l.rates
	}
	l.changed = info.ModTime()
	if list, _ := Read(l.path); len(list) > 0 { // a check says what is wrong with the file
		l.rates = &list[0].Rates
	}
	return l.rates
}
