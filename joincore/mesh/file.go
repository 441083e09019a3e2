package mesh

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Version is that of the file format. A reader accepts no other.
const Version = 1

// MostBytes bounds a mesh file.
const MostBytes = 1 << 20

type file struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	Engines int    `json:"engines"`
	Nodes   []Node `json:"nodes"`
	Links   []Link `json:"links"`
	Pools   []Pool `json:"pools,omitempty"`
}

// Encode returns the mesh as a file that Decode reads.
func (m *Mesh) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(file{Version, m.Name, m.Engines, m.Nodes, m.Links, m.Pools}, "", " ")
	return append(text, '\n'), err
}

// Decode reads a mesh file. It does not trust it: an unknown version or field,
// a value out of range or anything after the end is an error that wraps
// ErrInvalid.
func Decode(text []byte) (*Mesh, error) {
	if len(text) > MostBytes {
		return nil, fmt.Errorf("%w: %d bytes, more than %d", ErrInvalid, len(text), MostBytes)
	}
	// The version first: another version's fields are not known.
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if version.Version != Version {
		return nil, fmt.Errorf("%w: version %d, not %d", ErrInvalid, version.Version, Version)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var f file
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: more than one value", ErrInvalid)
	}
	return New(f.Name, f.Nodes, f.Links, f.Pools, f.Engines)
}
