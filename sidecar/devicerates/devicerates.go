// Package devicerates keeps what was measured of devices in a file beside the
// daemon's socket: workers write it, the daemon and people's checks read it.
package devicerates

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gpujoin/joincore/costmodel"
)

// Entry is one device's rates.
type Entry struct {
	Key    string                `json:"key"`    // what they hold for: device, driver, kernels
	Device string                `json:"device"` // the model's name
	At     time.Time             `json:"at"`     // when they were measured
	Rates  costmodel.DeviceRates `json:"rates"`
}

const (
	mostEntries = 64
	mostBytes   = 1 << 20
)

// Read returns the entries of a file, the latest first; none where there is no
// file. Whoever may write to it may have written anything: entries that cannot
// be rates are left out, and the error says why. It may come with entries.
func Read(path string) ([]Entry, error) {
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
	var all, good []Entry
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
	slices.SortStableFunc(good, func(a, b Entry) int { return b.At.Compare(a.At) })
	return good[:min(len(good), mostEntries)], wrong
}

// Find returns the entry with that key.
func Find(path, key string) (e Entry, ok bool, err error) {
	list, err := Read(path)
	i := slices.IndexFunc(list, func(e Entry) bool { return e.Key == key })
	if i < 0 {
		return Entry{}, false, err
	}
	return list[i], true, nil
}

// Save puts an entry into the file, in the place of one with its key. Readers
// see the file as it was or as it is then.
func Save(path string, e Entry) error {
	list, _ := Read(path) // what cannot be read is written anew
	list = slices.DeleteFunc(list, func(o Entry) bool { return o.Key == e.Key })
	list = append([]Entry{e}, list[:min(len(list), mostEntries-1)]...)
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error counts
	}
	return err
}
