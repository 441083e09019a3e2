package packaging

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/version"
)

// make install installs what has been built, for the server of PG_CONFIG, and runs nothing
// that downloads or compiles. make uninstall removes it, but for the configuration.
func TestInstall(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	dest := t.TempDir()
	files := filepath.Join(root, "build", "files")
	if out, err := exec.Command(filepath.Join(root, "tools", "files.sh"), "/usr/local/bin", files).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	forbidden := filepath.Join(t.TempDir(), "ran")
	run := func(target string) {
		t.Helper()
		cmd := exec.Command("make", "-C", root, target, "DESTDIR="+dest, "PG_CONFIG="+harness.PGConfig())
		cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=0", "PATH="+stubs(t, forbidden)+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
		if ran, err := os.ReadFile(forbidden); err == nil {
			t.Errorf("make %s runs %s", target, ran)
		}
	}
	run("install")
	installed := tree(t, dest)
	for _, want := range []string{
		"usr/local/bin/gpujoind", "lib/systemd/system/gpujoind.service", "lib/systemd/system/gpujoind@.service",
		"usr/local/share/man/man8/gpujoind-serve.8", "etc/gpujoin/gpujoind.toml",
	} {
		if !slices.Contains(installed, want) {
			t.Errorf("make install does not install %s", want)
		}
	}
	for option, name := range map[string]string{
		"--pkglibdir": "gpujoin.so",
		"--sharedir":  fmt.Sprintf("extension/gpujoin--%s.sql", version.Text),
	} {
		dir, err := exec.Command(harness.PGConfig(), option).Output()
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(strings.TrimSpace(string(dir)), name)[1:]; !slices.Contains(installed, want) {
			t.Errorf("make install does not install %s", want)
		}
	}
	run("uninstall")
	if left := tree(t, dest); !slices.Equal(left, []string{"etc/gpujoin/gpujoind.toml"}) {
		t.Errorf("make uninstall leaves %v", left)
	}
}

// stubs returns a directory of programs that make install must not run: each writes its
// name to a file.
func stubs(t *testing.T, forbidden string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"apt-get", "sudo", "python3", "pip", "git", "gcc", "cc", "curl", "wget"} {
		script := fmt.Sprintf("#!/bin/sh\necho %s \"$@\" >>%s\nexit 1\n", name, forbidden)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// The Makefile asks which version of Go there is.
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = env ] && { echo go1.99; exit; }\necho go \"$@\" >>%s\nexit 1\n", forbidden)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree returns the files below a directory.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			relative, err := filepath.Rel(root, path)
			files = append(files, relative)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A build that lacks the server's headers says how to get them, before it compiles.
func TestCompileWithoutHeaders(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("make", "-C", root, "compile", "PG_CONFIG=/nonexistent/pg_config")
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=0")
	out, err := cmd.CombinedOutput()
	if said := string(out); err == nil || !strings.Contains(said, "/nonexistent/pg_config finds no header files") || !strings.Contains(said, "make setup") || strings.Contains(said, "building") {
		t.Errorf("make compile: %v\n%s", err, said)
	}
}
