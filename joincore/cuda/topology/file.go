package topology

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// version is that of the file format. A reader accepts no other.
const version = 1

// mostBytes bounds a file.
const mostBytes = 1 << 20

type file struct {
	Version int   `json:"version"`
	Facts   Facts `json:"facts"`
}

// Encode returns the facts as a file that Decode reads.
func (f *Facts) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(file{version, *f}, "", " ")
	return append(text, '\n'), err
}

// Decode reads a file. It does not trust it: an unknown version or field, a value out of
// range or anything after the end is an error that wraps ErrFacts.
func Decode(text []byte) (*Facts, error) {
	if len(text) > mostBytes {
		return nil, fmt.Errorf("%w: %d bytes, more than %d", ErrFacts, len(text), mostBytes)
	}
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFacts, err)
	}
	if head.Version != version {
		return nil, fmt.Errorf("%w: version %d, not %d", ErrFacts, head.Version, version)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var f file
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFacts, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: more than one value", ErrFacts)
	}
	return &f.Facts, f.Facts.check()
}

// Load reads the file of the facts about devices of some UUIDs, in this order, and a
// driver. It returns nil if there is none, or if it is about others.
func Load(path string, uuids []string, driver string) (*Facts, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostBytes {
		return nil, fmt.Errorf("%s: %w: no file of at most %d bytes", path, ErrFacts, mostBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.Driver != driver || len(f.Devices) != len(uuids) {
		return nil, nil
	}
	for i, d := range f.Devices {
		if d.UUID != uuids[i] {
			return nil, nil
		}
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
