package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoDriver reports that this machine has no NVIDIA driver.
var ErrNoDriver = errors.New("no NVIDIA driver")

// driverLibrary is the library that every CUDA program loads. It is part of the
// driver.
const driverLibrary = "libcuda.so.1"

// systemDirs are the directories that the dynamic loader searches, and those in
// which container runtimes and WSL install the driver.
var systemDirs = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
	"/usr/local/nvidia/lib64", "/usr/local/cuda/compat", "/usr/lib/wsl/lib",
}

// FindDriver looks for the CUDA driver's library below root, which is "/"
// except in tests. It does not load the library, so that the daemon needs no C
// code. It returns the library's path. Without a driver the error wraps ErrNoDriver.
func FindDriver(root string, environ []string) (library string, err error) {
	var dirs []string
	for _, e := range environ {
		if list, ok := strings.CutPrefix(e, "LD_LIBRARY_PATH="); ok {
			dirs = append(dirs, filepath.SplitList(list)...)
		}
	}
	for _, d := range append(loaderDirs(root), systemDirs...) {
		dirs = append(dirs, filepath.Join(root, d))
	}
	for _, d := range dirs {
		at := filepath.Join(d, driverLibrary)
		if st, err := os.Stat(at); filepath.IsAbs(at) && err == nil && st.Mode().IsRegular() {
			return at, nil
		}
	}
	if version := moduleVersion(root); version != "" {
		return "", fmt.Errorf("%w: version %s of the kernel module is loaded, but %s is not installed", ErrNoDriver, version, driverLibrary)
	}
	return "", fmt.Errorf("%w: %s is not installed", ErrNoDriver, driverLibrary)
}

// loaderDirs are the directories of the dynamic loader's configuration.
func loaderDirs(root string) []string {
	files, err := filepath.Glob(filepath.Join(root, "etc/ld.so.conf.d/*.conf"))
	if err != nil {
		return nil
	}
	var dirs []string
	for _, name := range append(files, filepath.Join(root, "etc/ld.so.conf")) {
		text, _ := os.ReadFile(name) // not every system has them
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); filepath.IsAbs(line) {
				dirs = append(dirs, line)
			}
		}
	}
	return dirs
}

// moduleVersion returns the version of the kernel module, "" if unknown.
func moduleVersion(root string) string {
	text, err := os.ReadFile(filepath.Join(root, "proc/driver/nvidia/version"))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for _, field := range strings.Fields(line) {
		if field[0] >= '0' && field[0] <= '9' && strings.Contains(field, ".") {
			return field
		}
	}
	return ""
}
