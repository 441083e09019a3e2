// Package reader tests the C code that reads a daemon's messages, without a
// server: compiled with the address and undefined-behaviour sanitisers, it
// reads messages and extents that were valid before random changes. It must
// accept what Go's own reader accepts, and never read out of bounds.
//
//	go test ./reader -rounds 1000000 -seed 7
package reader

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

var (
	rounds = flag.Int("rounds", 30_000, "how many inputs to make for each target")
	seed   = flag.Uint64("seed", 1, "of what is random")
)

// target is a test program.
type target struct{ path string }

// build compiles a driver of c/ with files of the extension.
func build(t *testing.T, driver string, files ...string) target {
	t.Helper()
	program := target{filepath.Join(t.TempDir(), driver)}
	config := func(option string) []string {
		out, err := exec.Command(harness.PGConfig(), option).Output()
		if err != nil {
			t.Fatalf("pg_config %s: %v", option, err)
		}
		return strings.Fields(string(out))
	}
	args := append(config("--cppflags"), "-I../../fdw", "-isystem")
	args = append(args, config("--includedir-server")...)
	args = append(args,
		"-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
		"-fno-strict-aliasing", "-fwrapv", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
		// The server's functions that these parts never call stay undefined.
		"-no-pie", "-Wl,--unresolved-symbols=ignore-all",
		"-o", program.path, "c/main.c", "c/server.c", "c/"+driver+".c")
	for _, f := range files {
		args = append(args, "../../fdw/"+f)
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return program
}

// try runs the program on all inputs and passes each result to check.
func (p target) try(t *testing.T, inputs [][]byte, check func(input []byte, result uint64)) {
	t.Helper()
	cmd := exec.Command(p.path)
	// Memory contexts outlive an input, so leaks are not detected.
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		w := bufio.NewWriter(in)
		for _, input := range inputs {
			_ = binary.Write(w, binary.LittleEndian, uint32(len(input)))
			_, _ = w.Write(input) // if the program has ended, the reader below reports it
		}
		_ = w.Flush()
		_ = in.Close()
	}()
	r := bufio.NewReader(out)
	done := 0
	for ; done < len(inputs); done++ {
		var result [8]byte
		if _, err := io.ReadFull(r, result[:]); err != nil {
			break
		}
		check(inputs[done], binary.LittleEndian.Uint64(result[:]))
	}
	if err := cmd.Wait(); err != nil || done < len(inputs) {
		t.Fatalf("input %d of %d (seed %d): %v\n%s\n%s", done, len(inputs), *seed, err,
			hex.Dump(inputs[min(done, len(inputs)-1)]), stderr.String())
	}
}

// mutate returns b with one to four random changes.
func mutate(r *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + r.IntN(4) {
		if len(b) == 0 {
			return b
		}
		// Prefers the front, where headers are.
		at := r.IntN(len(b))
		if r.IntN(2) == 0 {
			at = r.IntN(min(len(b), 512))
		}
		switch r.IntN(8) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.Uint32())
		case 2: // a number, or an offset
			if at &^= 3; at+4 <= len(b) {
				binary.LittleEndian.PutUint32(b[at:], number(r, uint32(len(b))))
			}
		case 3: // a little more or less
			if at &^= 3; at+4 <= len(b) {
				n := binary.LittleEndian.Uint32(b[at:])
				binary.LittleEndian.PutUint32(b[at:], n+uint32(r.IntN(17))-8)
			}
		case 4:
			b = b[:at]
		case 5:
			b = append(b, make([]byte, r.IntN(100))...)
		case 6: // the same bytes elsewhere
			copy(b[at:], b[r.IntN(len(b)):])
		case 7:
			for i := at; i < min(at+r.IntN(64), len(b)); i++ {
				b[i] = 0xff
			}
		}
	}
	return b
}

// number returns a number that length checks may miss.
func number(r *rand.Rand, size uint32) uint32 {
	n := []uint32{0, 1, 2, 7, 8, 64, 127, 128, 1 << 12, 1 << 13, 1 << 16, 1<<22 + 1, 1 << 31, 1<<32 - 1, size, size / 2, r.Uint32()}
	return n[r.IntN(len(n))] + uint32(r.IntN(3)) - 1
}

// random returns the random source of a test.
func random(t *testing.T) *rand.Rand {
	return rand.New(rand.NewPCG(*seed, uint64(len(t.Name()))))
}

func describe(input []byte) string {
	return fmt.Sprintf("%d bytes\n%s", len(input), hex.Dump(input))
}
