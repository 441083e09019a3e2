package cli

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchTransfer: the worker is run as a daemon would start it, with what is
// asked for, and what it prints is passed on.
func TestBenchTransfer(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	worker, driver := filepath.Join(dir, "worker"), filepath.Join(dir, "driver")
	const script = `#!/bin/sh
echo "$@"
echo "secret=$SECRET devices=$CUDA_VISIBLE_DEVICES loading=$CUDA_MODULE_LOADING"
case "$*" in *--device=7*) echo "there is no device 7" >&2; exit 9;; esac
`
	if err := os.WriteFile(worker, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(driver, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(driver, "libcuda.so.1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"LD_LIBRARY_PATH=" + driver, "SECRET=x", "CUDA_VISIBLE_DEVICES=2"}
	right, wrong := fmt.Sprintf("%x", sha256.Sum256([]byte(script))), fmt.Sprintf("%x", sha256.Sum256(nil))
	for name, c := range map[string]struct {
		args string
		code int
		want string
	}{
		"as it is":        {"", ExitOK, "bench transfer --device=0 --join=false --json= --repeats=5 --rows=134217728 --sizes=16MB,256MB,2GB --unified=false\nsecret= devices=2 loading=EAGER\n"},
		"with arguments":  {"--sizes 1GB --device 1 --unified --repeats 3 --json x.json", ExitOK, "bench transfer --device=1 --join=false --json=x.json --repeats=3 --rows=134217728 --sizes=1GB --unified=true\n"},
		"joins":           {"--join --rows 1000000", ExitOK, "bench transfer --device=0 --join=true --json= --repeats=5 --rows=1000000 --sizes=16MB,256MB,2GB --unified=false\nsecret= devices=2 loading=EAGER\n"},
		"it fails":        {"--device 7", ExitFailure, "there is no device 7\n"},
		"right checksum":  {"--cuda-checksum " + right, ExitOK, "loading=EAGER\n"},
		"other checksum":  {"--cuda-checksum " + wrong, ExitFailure, "gpujoin-cuda: unusable worker program: "},
		"no worker":       {"--cuda-plugin " + dir + "/none", ExitFailure, "worker program is missing"},
		"no program":      {"--cuda-plugin " + driver, ExitFailure, "is not a program"},
		"wrong arguments": {"--size 1GB", ExitUsage, "unknown flag"},
		"wrong setting":   {"--cuda-memory much", ExitUsage, "much"},
	} {
		var out strings.Builder
		args := append([]string{"bench", "transfer", "--cuda-plugin", worker}, strings.Fields(c.args)...)
		if code := Main(args, environ, &out, &out); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit code %d: %s", name, code, out.String())
		}
	}
}

// TestBenchMesh: the worker measures the links, too.
func TestBenchMesh(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	worker := filepath.Join(dir, "worker")
	if err := os.WriteFile(worker, []byte("#!/bin/sh\necho \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "libcuda.so.1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"": "bench mesh --json= --mesh=\n", "--json x.json --mesh y": "bench mesh --json=x.json --mesh=y\n"} {
		var out strings.Builder
		code := Main(append([]string{"bench", "mesh", "--cuda-plugin", worker}, strings.Fields(args)...), []string{"LD_LIBRARY_PATH=" + dir}, &out, &out)
		if code != ExitOK || out.String() != want {
			t.Errorf("%q: exit code %d: %s", args, code, out.String())
		}
	}
}

// Without a GPU it says what is missing.
func TestBenchTransferWithoutDriver(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none")
	var out strings.Builder
	code := Main([]string{"bench", "transfer", "--cuda-plugin", missing}, []string{"LD_LIBRARY_PATH=" + dir}, &out, &out)
	if text := out.String(); code != ExitFailure || !strings.Contains(text, "no NVIDIA driver") && !strings.Contains(text, "worker program is missing") {
		t.Errorf("exit code %d: %s", code, text)
	}
}
