package kernels_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/testsupport/suite"
)

// TestProgramsAreSpecialised makes kernels of random programs of each PTX that was built:
// nothing is left that only package rowid understands. If there is an assembler, it
// accepts some of them.
func TestProgramsAreSpecialised(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	files, _ := filepath.Glob("bin/fixed.*.ptx")
	if len(files) == 0 {
		t.Skip("the kernels were not built")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(file, func(t *testing.T) { specialised(t, string(text), strings.Split(file, ".")[1]) })
	}
}

// specialised makes kernels of the PTX for a compute capability.
func specialised(t *testing.T, text, arch string) {
	assembler, _ := exec.LookPath("ptxas")
	made, assembled := map[string]int{}, map[string]int{}
	for seed := range uint64(150) {
		name, fixed := fixedOf(t, seed)
		if fixed == nil {
			continue
		}
		kernel, err := rowid.SpecialiseText(text, name, fixed)
		if errors.Is(err, rowid.ErrTooLarge) {
			continue
		} else if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, name, err)
		}
		made[name]++
		if strings.Contains(kernel, "gj.") {
			t.Fatalf("seed %d: a pseudo-instruction is left", seed)
		}
		if assembler == "" || assembled[name] >= 1 {
			continue
		}
		assembled[name]++
		ptx := filepath.Join(t.TempDir(), "kernel.ptx")
		if err := os.WriteFile(ptx, []byte(kernel), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(assembler, "-v", "-arch=sm_"+arch, "-o", filepath.Join(t.TempDir(), "cubin"), ptx).CombinedOutput()
		if err != nil {
			t.Fatalf("seed %d, %s: %v\n%s", seed, name, err, out)
		}
		t.Logf("seed %d, %s, %d instructions: %d bytes of PTX\n%s", seed, name, len(fixed.Code), len(kernel), out)
	}
	t.Log(made)
	if len(made) != 4 {
		t.Errorf("kernels were made of %v", made)
	}
}

// fixedOf compiles a random aggregate, and returns the kernel that runs it and what is
// fixed of a launch; nil: no kernel computes it.
func fixedOf(t *testing.T, seed uint64) (name string, fixed *rowid.Fixed) {
	plan, inputs := suite.RandomIntegers(seed, true)
	a := plan.Root.(*joincore.Aggregate)
	if len(inputs) != 1 {
		return "", nil
	}
	g, p := compiled(t, plan)
	if g == nil {
		return "", nil
	}
	name = "gj_fixed_narrow"
	if p.Wide {
		name = "gj_fixed_wide"
	}
	if name += "_word"; g.Words > 1 {
		name += "s"
	}
	mode, length, begin, filter := seed%3, len(p.Code), 0, p.Filter
	if len(a.Keys) == 0 {
		mode = 0
	}
	switch mode {
	case 1: // scatters rows
		length = p.Grouped
	case 2: // gathers them
		begin, filter = filter, 0
	}
	fixed = &rowid.Fixed{Numbers: []uint64{
		uint64(filter), uint64(length), uint64(begin), mode, uint64(bit(len(a.Keys) == 0)), uint64(p.Slots), uint64(g.Words),
	}}
	for _, i := range p.Code {
		fixed.Code = append(fixed.Code, uint64(i))
	}
	for i, o := range p.Columns {
		what := uint64(plan.Inputs[o.Column.Input].Columns[o.Column.Column].Width)
		fixed.Columns = append(fixed.Columns, what|seed<<uint(i)&0x100|seed<<uint(i)&0x200)
	}
	return name, fixed
}
