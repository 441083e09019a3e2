package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Bundle is an unpacked archive of make gpu-bundle: everything that clusters
// need, for machines without PostgreSQL and compilers.
type Bundle struct {
	BinDir   string `json:"bindir"` // of PostgreSQL, where it was installed originally
	LibDir   string `json:"libdir"`
	ShareDir string `json:"sharedir"`
	Commit   string `json:"commit"` // of the repository
}

// PrepareBundle is Prepare for a bundle unpacked to dir, which users other than
// root must be able to enter. Every process started afterwards finds the
// bundle's libraries.
func PrepareBundle(dir string) (*Env, *Bundle, error) {
	syscall.Umask(0o022)
	data, err := os.ReadFile(filepath.Join(dir, "bundle.json"))
	if err != nil {
		return nil, nil, err
	}
	b := &Bundle{}
	if err := json.Unmarshal(data, b); err != nil {
		return nil, nil, fmt.Errorf("bundle.json: %w", err)
	}
	// Without PostgreSQL's package its user may not exist: any unprivileged
	// user will do.
	account, err := findAccount("postgres", "nobody")
	if err != nil {
		return nil, nil, err
	}
	if !account.canEnter(dir) {
		return nil, nil, fmt.Errorf("user %d cannot enter %s", account.UID, dir)
	}
	libraries := filepath.Join(dir, "lib")
	if others := os.Getenv("LD_LIBRARY_PATH"); others != "" {
		libraries += ":" + others
	}
	if err := os.Setenv("LD_LIBRARY_PATH", libraries); err != nil {
		return nil, nil, err
	}
	pg := filepath.Join(dir, "pg")
	e := &Env{
		Root: dir, Work: filepath.Join(dir, "run"), Account: account,
		Daemon:    filepath.Join(dir, "bin", "gpujoind"),
		Generator: filepath.Join(dir, "bin", "tpchgen-cli"),
		Prefix: &Prefix{
			Bin:   filepath.Join(pg, b.BinDir),
			Lib:   filepath.Join(pg, b.LibDir),
			Share: filepath.Join(pg, b.ShareDir),
		},
	}
	if err := os.Mkdir(e.Work, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, nil, err
	}
	out, err := exec.Command(filepath.Join(e.Prefix.Bin, "postgres"), "--version").CombinedOutput()
	if err != nil {
		return nil, nil, fmt.Errorf("the bundle's postgres does not run here: %w: %s", err, out)
	}
	e.Prefix.Version = strings.TrimSpace(string(out))
	return e, b, nil
}
