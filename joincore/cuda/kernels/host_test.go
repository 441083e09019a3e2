package kernels_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Runs kernels on the host, with fibers as threads, so that their results are
// tested without a GPU. Needs a C++20 compiler.

func TestHashOnTheHost(t *testing.T) { onHost(t, "hash") }

func TestFusedKernelsOnTheHost(t *testing.T) { onHost(t, "joins") }

func TestDestinationsOnTheHost(t *testing.T) { onHost(t, "destinations") }

func TestSendsOnTheHost(t *testing.T) { onHost(t, "sends") }

func TestSpansOnTheHost(t *testing.T) { onHost(t, "spans") }

func TestDivisionOnTheHost(t *testing.T) { onHost(t, "divide") }

func TestHotKeysOnTheHost(t *testing.T) { onHost(t, "hot") }

func TestBloomFiltersOnTheHost(t *testing.T) { onHost(t, "bloom") }

// onHost builds and runs a program of host/.
func onHost(t *testing.T, name string) {
	out, err := exec.Command(buildForHost(t, name)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// buildForHost builds a program of host/ and returns its path.
func buildForHost(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a run without -short: it takes up to a minute")
	}
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("there is no g++")
	}
	dir := t.TempDir()
	for _, pattern := range []string{"agent/*", "block/*", "layout/*", "entry/*.cuh", "host/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// On the host, dynamic shared memory is an ordinary array of that name.
			text = bytes.ReplaceAll(text, []byte("extern __shared__ uint4 shared[];"), nil)
			to := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	program := filepath.Join(dir, name)
	// Fibers jump between stacks, which a fortified longjmp takes for an error.
	build := exec.Command(compiler, "-std=c++20", "-O1", "-U_FORTIFY_SOURCE", "-fno-strict-aliasing", "-Wno-unknown-pragmas", "-I", dir, "-o", program, filepath.Join(dir, "host", name+".cpp"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(build.Args, " "), err, out)
	}
	return program
}

func TestSortKernelsOnTheHost(t *testing.T) { onHost(t, "sorts") }
