package links

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
)

// factsVersion is that of the file format. A reader accepts no other.
const factsVersion = 2

// mostFactsBytes bounds a file.
const mostFactsBytes = 1 << 20

// factsFile is the only file about what connects devices and how fast it copies. The daemon
// keeps it as <socket>.mesh; gpujoind bench mesh --json writes the same.
type factsFile struct {
	Version int `json:"version"`
	Facts
}

// Encode returns the facts as a file that Decode reads.
func (f *Facts) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(factsFile{factsVersion, *f}, "", " ")
	return append(text, '\n'), err
}

// DecodeFacts reads a file. It does not trust it: an unknown version or field, a value out of
// range or anything after the end is an error that wraps ErrFacts.
func DecodeFacts(text []byte) (*Facts, error) {
	if len(text) > mostFactsBytes {
		return nil, fmt.Errorf("%w: %d bytes, more than %d", ErrFacts, len(text), mostFactsBytes)
	}
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFacts, err)
	}
	if head.Version != factsVersion {
		return nil, fmt.Errorf("%w: version %d, not %d", ErrFacts, head.Version, factsVersion)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var f factsFile
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFacts, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: more than one value", ErrFacts)
	}
	return &f.Facts, f.Facts.check()
}

// LoadFacts reads the file of the facts about devices of some UUIDs, in this order, and a
// driver. It returns nil if there is none, or if it is about others, or about devices that were apart if
// they are not to be.
func LoadFacts(path string, uuids []string, driver string, apart bool) (*Facts, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostFactsBytes {
		return nil, fmt.Errorf("%s: %w: no file of at most %d bytes", path, ErrFacts, mostFactsBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := DecodeFacts(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.Driver != driver || !slices.EqualFunc(f.Devices, uuids, func(d Device, uuid string) bool { return d.UUID == uuid }) {
		return nil, nil
	}
	switch {
	case f.Apart && !apart:
		return nil, nil
	case apart && !f.Apart:
		return f.apart(), nil
	}
	return f, nil
}

// Save writes the file, as a whole or not at all.
func (f *Facts) Save(path string) error {
	text, err := f.Encode()
	if err != nil {
		return err
	}
	return renameio.WriteFile(path, text, 0o600, renameio.WithTempDir(filepath.Dir(path)))
}
