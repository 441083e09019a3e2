package worker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindDriver looks into systems of files.
func TestFindDriver(t *testing.T) {
	const version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07  Sun Aug\nGCC version: 12\n"
	for name, c := range map[string]struct {
		files   map[string]string
		environ []string
		library string // "": none
		text    string
	}{
		"nothing":   {text: "libcuda.so.1 is not installed"},
		"installed": {files: map[string]string{"usr/lib/x86_64-linux-gnu/libcuda.so.1": ""}, library: "usr/lib/x86_64-linux-gnu/libcuda.so.1"},
		"with module": {files: map[string]string{"usr/lib64/libcuda.so.1": "", "proc/driver/nvidia/version": version},
			library: "usr/lib64/libcuda.so.1"},
		"module only": {files: map[string]string{"proc/driver/nvidia/version": version},
			text: "version 580.82.07 of the kernel module is loaded, but"},
		"configured": {files: map[string]string{"etc/ld.so.conf.d/a.conf": "# driver\n/opt/nv\n", "opt/nv/libcuda.so.1": ""},
			library: "opt/nv/libcuda.so.1"},
		"a directory": {files: map[string]string{"usr/lib64/libcuda.so.1/x": ""}, text: "not installed"},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			at := filepath.Join(root, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		library, err := FindDriver(root, c.environ)
		if c.library != "" {
			if err != nil || library != filepath.Join(root, c.library) {
				t.Errorf("%s: %q, %v", name, library, err)
			}
			continue
		}
		if !errors.Is(err, ErrNoDriver) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, driverLibrary), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if library, err := FindDriver(t.TempDir(), []string{"A=b", "LD_LIBRARY_PATH=::relative:" + dir}); err != nil || filepath.Dir(library) != dir {
		t.Error(library, err)
	}
}
