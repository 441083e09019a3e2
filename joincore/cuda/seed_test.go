//go:build cuda

package cuda

import (
	"testing"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
	"gpujoin/joincore/device"
)

// TestSeedIsDrawn: executions hash by seeds of their own, unless a test gives one.
func TestSeedIsDrawn(t *testing.T) {
	seeds := map[uint64]bool{0: true}
	for range 3 {
		e := newExecution(&workspace{}, nil, device.Options{}, nil)
		if seeds[e.opt.Seed] {
			t.Errorf("seed %#x again", e.opt.Seed)
		}
		seeds[e.opt.Seed] = true
	}
	if e := newExecution(&workspace{}, nil, device.Options{Seed: 7}, nil); e.opt.Seed != 7 {
		t.Errorf("seed %d in place of 7", e.opt.Seed)
	}
}

// TestModulesHaveTheSeed: all that hash have the same.
func TestModulesHaveTheSeed(t *testing.T) {
	c, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	images := map[string][]byte{"steps": kernels.Steps, "general": kernels.General, "sort": kernels.Sort}
	for _, name := range []string{"gj_first_k1_0", "gj_inner_k1_4x1_4x1", "gj_bypass_k1_4x1_4x1"} {
		if images[name], err = kernels.Fused(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, image := range images {
		m, err := c.Load(image)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Constants("gj_hash_seed"); err != nil || len(got) != 1 || got[0] != c.HashSeed() {
			t.Errorf("%s: seed %#x, %v", name, got, err)
		}
		if err := m.Unload(); err != nil {
			t.Error(err)
		}
	}
}
