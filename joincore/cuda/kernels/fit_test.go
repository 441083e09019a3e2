package kernels

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestDevicesThatFit(t *testing.T) {
	for _, c := range []struct {
		name                 string
		major, minor, shared int // KiB
		fits                 bool
	}{
		{"V100", 7, 0, 96, false}, {"A100", 8, 0, 163, true}, {"A40", 8, 6, 99, false}, {"L40", 8, 9, 99, false},
		{"H100", 9, 0, 227, true}, {"B200", 10, 0, 227, true}, {"RTX PRO 6000", 12, 0, 99, false},
	} {
		if err := Fit(c.major, c.minor, c.shared<<10); (err == nil) != c.fits || err != nil && !errors.Is(err, ErrUnfit) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// countersBytes is the size of the counters of a histogram's block: 2^15 of 4
// bytes, or 2^16 of 2.
const countersBytes = 4 << 15

// No compiled kernel, of any capability, needs more shared memory than Fit asks of
// a device: static, plus the most that it is launched with.
func TestSharedMemoryIsEnough(t *testing.T) {
	var files []string
	for _, pattern := range []string{"bin/*.cubin", "bin/fused/*.cubin"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skip("no kernels were compiled: make cuda does it, with a CUDA toolkit and no GPU")
	}
	kernels := 0
	for _, file := range files {
		arch, err := strconv.Atoi(strings.Split(filepath.Base(file), ".")[1])
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for name, shared := range sharedMemory(t, file) {
			kernels++
			bytes := shared.static + shared.dynamic
			if strings.HasPrefix(name, "gj_histogram") { // the host adds a sample only if it fits (phj)
				bytes = shared.static + countersBytes
				if shared.static > HistogramStatic {
					t.Errorf("%s, %s: %d bytes of static shared memory", file, name, shared.static)
				}
			}
			if have := SharedMemory(arch / 10); bytes > have {
				t.Errorf("%s, %s: %d bytes of shared memory, devices have %d", file, name, bytes, have)
			}
		}
	}
	if kernels < len(files) {
		t.Errorf("%d kernels in %d files", kernels, len(files))
	}
}

// blockMemory is shared memory of a block, in bytes.
type blockMemory struct{ static, dynamic int }

// sharedMemory returns the shared memory of each kernel of a fatbin file.
func sharedMemory(t *testing.T, file string) map[string]blockMemory {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	out := map[string]blockMemory{}
	for _, s := range symbols {
		kernel, ok := strings.CutSuffix(s.Name, "_launch")
		if !ok {
			continue
		}
		facts, err := f.Sections[s.Section].Data()
		if err != nil || s.Size != 5*8 {
			t.Fatalf("%s, %s: %d bytes, %v", file, s.Name, s.Size, err)
		}
		shared := blockMemory{dynamic: int(binary.LittleEndian.Uint64(facts[s.Value+2*8:]))}
		if own := f.Section(".nv.shared." + kernel); own != nil {
			shared.static = int(own.Size)
		}
		out[kernel] = shared
	}
	return out
}
