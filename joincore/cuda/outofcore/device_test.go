//go:build cuda

package outofcore_test

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/device"
	"gpujoin/testsupport/suite"
)

// provider opens the device, and returns what its joins out of core share.
func provider(t *testing.T) (*cuda.Provider, *outofcore.Device) {
	t.Helper()
	p, err := cuda.New(cuda.Config{Budget: 64 << 20, Streams: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := p.Open(&suite.Arena{}, device.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	return p, executionOf(d).Device()
}

func executionOf(d device.Device) outofcore.Resources { return d.(outofcore.Resources) }

// imported imports an input and returns the view of all of its rows.
func imported(t *testing.T, d device.Device, number int, r *joincore.Relation) outofcore.View {
	t.Helper()
	s, err := d.Import(number, r)
	if err != nil {
		t.Fatal(err)
	}
	all, ok := executionOf(d).AllRows(s)
	if !ok {
		t.Fatalf("input %d has not all rows", number)
	}
	return all
}
