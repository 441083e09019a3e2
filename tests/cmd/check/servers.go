package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"gpujoin/tests/harness"
)

// finder returns a server with the extension.
type finder func(root string) (harness.Server, error)

// selected is the server that PG_CONFIG selects.
func selected(root string) (harness.Server, error) { return harness.Selected(root), nil }

var majorVersion = regexp.MustCompile(`^PostgreSQL (\d+)`)

// selectedMajor returns the major version that PG_CONFIG selects.
func selectedMajor() (string, error) {
	out, err := exec.Command(harness.PGConfig(), "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", harness.PGConfig(), err)
	}
	m := majorVersion.FindStringSubmatch(string(out))
	if m == nil {
		return "", fmt.Errorf("%s: no version in %q", harness.PGConfig(), out)
	}
	return m[1], nil
}

// fetched is a server that tools/fetch-postgres.sh fetches, with the extension
// built for it.
func fetched(major string) finder {
	return func(root string) (harness.Server, error) {
		dir, err := fetch(root, "server", major)
		if err != nil {
			return harness.Server{}, err
		}
		s := harness.Server{
			PGConfig: filepath.Join(dir, "bin", "pg_config"),
			Build:    filepath.Join(root, "build", "fdw", major),
			Private:  "pg-" + major,
		}
		if err := os.MkdirAll(s.Build, 0o755); err != nil {
			return s, err
		}
		return s, s.Make(root, fmt.Sprintf("-j%d", runtime.NumCPU()))
	}
}

// fetch runs tools/fetch-postgres.sh and returns the directory that it prints.
func fetch(root, what, major string) (string, error) {
	cmd := exec.Command("tools/fetch-postgres.sh", what, major)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s%w", stderr.String(), err)
	}
	return strings.TrimSpace(string(out)), nil
}
