//go:build cuda

package columnartest

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
)

// Rig is a device with an arena for data and joins.
type Rig struct {
	*testing.T
	Context *driver.Context
	Stream  *driver.Stream
	Arena   *driver.Arena
	Rand    *rand.Rand

	window *driver.Host
}

// New makes a rig, which ends with the test.
func New(t *testing.T, arenaBytes int64) *Rig {
	t.Helper()
	r := &Rig{T: t, Rand: Source(t)}
	var err error
	r.Context, err = driver.Open(0)
	r.Must(err)
	r.Stream, err = r.Context.NewStream()
	r.Must(err)
	r.Arena, err = r.Context.NewArena(arenaBytes)
	r.Must(err)
	r.window, err = r.Context.Pinned(16 << 20)
	r.Must(err)
	t.Cleanup(func() {
		r.Must(r.Stream.Close())
		r.Must(r.window.Free())
		r.Must(r.Arena.Close())
		r.Must(r.Context.Close())
	})
	return r
}

// Must fails the test on an error.
func (r *Rig) Must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// Upload takes memory for a column and fills it.
func (r *Rig) Upload(values []Value, bytes int) columnar.Column {
	r.Helper()
	at, err := r.Arena.Take(int64(len(values) * bytes))
	r.Must(err)
	raw := make([]byte, len(values)*bytes)
	for i, v := range values {
		v.put(raw[i*bytes:], bytes)
	}
	for from := 0; from < len(raw); from += len(r.window.Bytes()) {
		n := copy(r.window.Bytes(), raw[from:])
		r.Must(r.Stream.CopyIn(at+driver.Ptr(from), r.window.Bytes()[:n]))
		r.Must(r.Stream.Sync(context.Background()))
	}
	return columnar.Column{Addr: at, Bytes: bytes}
}

// UploadWords takes memory for a column of 4-byte values and fills it.
func (r *Rig) UploadWords(rows int64, value func(row int64) uint32) columnar.Column {
	r.Helper()
	at, err := r.Arena.Take(rows * 4)
	r.Must(err)
	window := r.window.Bytes()
	for from := int64(0); from < rows; {
		n := min(rows-from, int64(len(window)/4))
		for i := range n {
			binary.LittleEndian.PutUint32(window[4*i:], value(from+i))
		}
		r.Must(r.Stream.CopyIn(at+driver.Ptr(4*from), window[:4*n]))
		r.Must(r.Stream.Sync(context.Background()))
		from += n
	}
	return columnar.Column{Addr: at, Bytes: 4}
}

// Download returns a column's values.
func (r *Rig) Download(c columnar.Column, rows int64) []Value {
	r.Helper()
	raw := make([]byte, rows*int64(c.Bytes))
	for from := 0; from < len(raw); {
		part := r.window.Bytes()[:min(len(raw)-from, len(r.window.Bytes()))]
		r.Must(r.Stream.CopyOut(part, c.Addr+driver.Ptr(from)))
		r.Must(r.Stream.Sync(context.Background()))
		from += copy(raw[from:], part)
	}
	values := make([]Value, rows)
	for i := range values {
		values[i] = get(raw[i*c.Bytes:], c.Bytes)
	}
	return values
}

// Value is a value of up to 16 bytes.
type Value [2]uint64

func (v Value) put(to []byte, bytes int) {
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:], v[0])
	binary.LittleEndian.PutUint64(raw[8:], v[1])
	copy(to[:bytes], raw[:])
}

func (v Value) append(to []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(to, v[0]), v[1])
}

func get(from []byte, bytes int) Value {
	var raw [16]byte
	copy(raw[:], from[:bytes])
	return Value{binary.LittleEndian.Uint64(raw[:]), binary.LittleEndian.Uint64(raw[8:])}
}
