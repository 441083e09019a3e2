package costmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
)

// SavedRates is one device's rates in a file next to the daemon's socket. Workers
// write the file; the daemon and the check command read it.
type SavedRates struct {
	Key    string      `json:"key"`    // identifies device, driver and kernels that the rates apply to
	Device string      `json:"device"` // model name
	At     time.Time   `json:"at"`     // time of the measurement
	Rates  DeviceRates `json:"rates"`
}

const (
	mostEntries = 64
	mostBytes   = 1 << 20
)

// ReadRates returns the entries of the file at path, latest first, or none if the
// file does not exist. ReadRates does not trust the file: it skips invalid entries
// and returns an error that describes them together with the valid entries.
func ReadRates(path string) ([]SavedRates, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBytes))
	if err != nil {
		return nil, err
	}
	var all, good []SavedRates
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var wrong error
	for _, e := range all {
		if err := e.Rates.Check(); err != nil {
			wrong = fmt.Errorf("%s: %w", path, err)
			continue
		}
		good = append(good, e)
	}
	slices.SortStableFunc(good, func(a, b SavedRates) int { return b.At.Compare(a.At) })
	return good[:min(len(good), mostEntries)], wrong
}

// FindRates returns the entry of the file at path with the given key; ok reports
// whether there is one.
func FindRates(path, key string) (e SavedRates, ok bool, err error) {
	list, err := ReadRates(path)
	i := slices.IndexFunc(list, func(e SavedRates) bool { return e.Key == key })
	if i < 0 {
		return SavedRates{}, false, err
	}
	return list[i], true, nil
}

// SaveRates adds an entry to the file at path and replaces an existing entry with
// the same key. The update is atomic: readers see either the old file or the
// new one.
func SaveRates(path string, e SavedRates) error {
	list, _ := ReadRates(path) // unreadable entries are dropped
	list = slices.DeleteFunc(list, func(o SavedRates) bool { return o.Key == e.Key })
	list = append([]SavedRates{e}, list[:min(len(list), mostEntries-1)]...)
	return replaceFile(path, list)
}

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
