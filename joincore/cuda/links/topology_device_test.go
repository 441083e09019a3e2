//go:build cuda

package links

import (
	"path/filepath"
	"testing"

	"gpujoin/joincore/cuda/driver"
)

// The facts about this machine are complete, make a mesh, and are kept.
func TestDiscover(t *testing.T) {
	all, err := driver.Devices()
	if err != nil || len(all) == 0 {
		t.Fatalf("no device: %v", err)
	}
	path := filepath.Join(t.TempDir(), "gpus.mesh")
	f, err := CachedFacts(t.Context(), path, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Print(t.Output()); err != nil {
		t.Fatal(err)
	}
	if len(f.Devices) != len(all) || len(f.Pairs) != len(all)*(len(all)-1) {
		t.Fatalf("%d devices, %d pairs; there are %d", len(f.Devices), len(f.Pairs), len(all))
	}
	for i, d := range f.Devices {
		if d.ToDevice <= 0 || d.ToHost <= 0 || d.BothWays <= 0 {
			t.Errorf("device %d: %+v", i, d)
		}
	}
	for _, p := range f.Pairs {
		if len(p.Sizes) != len(copySizes) || p.Latency <= 0 || p.Peer && p.BothWays <= 0 {
			t.Errorf("pair: %+v", p)
		}
	}
	m, err := f.Mesh()
	if err != nil {
		t.Fatal(err)
	}
	for from := range all {
		for to := range all {
			if from != to && len(m.Direct(from, to)) == 0 {
				t.Errorf("nothing connects %d with %d", from, to)
			}
		}
	}
	again, err := CachedFacts(t.Context(), path, nil, false)
	if err != nil || again.AllGBps != f.AllGBps {
		t.Errorf("measured again: %v", err)
	}
}
