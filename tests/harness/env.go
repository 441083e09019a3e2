// Package harness starts what an end-to-end test needs and takes it down
// again: a private PostgreSQL cluster with the extension, the daemon beside
// it, sessions over the unix socket, and accounts of what all of them hold.
//
// Everything lies below one work directory and speaks over unix sockets only,
// so that runs in several clones do not meet. Every process that is started
// dies with the process that started it, however that one ends.
package harness

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Env is what clusters have in common.
type Env struct {
	Root    string // of the repository
	Work    string // below it, or elsewhere where the account cannot enter it
	Account Account
	Prefix  *Prefix

	Daemon    string // program
	Generator string // program: tpchgen-cli
}

// Prepare finds the account and the work directory and refreshes the private
// installation from what make build left.
func Prepare() (*Env, error) {
	syscall.Umask(0o022) // the account must be able to read what we write
	root, err := Root()
	if err != nil {
		return nil, err
	}
	account, err := FindAccount()
	if err != nil {
		return nil, err
	}
	work, err := workDir(root, account)
	if err != nil {
		return nil, fmt.Errorf("work directory: %w", err)
	}
	e := &Env{Root: root, Work: work, Account: account, Generator: filepath.Join(root, "build", "bin", "tpchgen-cli")}
	if e.Prefix, err = preparePrefix(root, work); err != nil {
		return nil, err
	}
	if e.Daemon, err = placeDaemon(root, work); err != nil {
		return nil, err
	}
	return e, nil
}

// placeDaemon copies the daemon to where the account can run it. The copy is
// named after its content: an older one may be running.
func placeDaemon(root, work string) (string, error) {
	built := filepath.Join(root, "build", "bin", "gpujoind")
	data, err := os.ReadFile(built)
	if err != nil {
		return "", fmt.Errorf("the daemon is not built; run make build: %w", err)
	}
	release, err := lock(filepath.Join(work, "pg.lock"))
	if err != nil {
		return "", err
	}
	defer release()
	sum := sha256.Sum256(data)
	dir := filepath.Join(work, "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	placed := filepath.Join(dir, fmt.Sprintf("gpujoind-%x", sum[:6]))
	if fileExists(placed) {
		return placed, nil
	}
	old, err := filepath.Glob(filepath.Join(dir, "gpujoind-*"))
	if err != nil {
		return "", err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return "", err
		}
	}
	return placed, copyFile(built, placed)
}
