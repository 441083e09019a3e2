// Package harness starts and stops the processes of end-to-end tests: a private
// PostgreSQL cluster with the extension, the daemon, and sessions over the unix
// socket. It also counts the resources that these hold.
//
// Everything is below one work directory and uses only unix sockets, so that
// runs in several clones do not interfere. Every started process dies with the
// process that started it, however that ends.
package harness

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Env is what clusters share.
type Env struct {
	Root    string // of the repository
	Work    string // below it, or elsewhere if the account cannot enter it
	Account Account
	Prefix  *Prefix

	Daemon    string // program
	Generator string // program: tpchgen-cli
}

// Prepare finds the account and the work directory and updates the private
// installation to the results of make build.
func Prepare() (*Env, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	return PrepareServer(root, Selected(root))
}

// PrepareServer is Prepare for any server.
func PrepareServer(root string, server Server) (*Env, error) {
	syscall.Umask(0o022) // the account must be able to read the files
	account, err := FindAccount()
	if err != nil {
		return nil, err
	}
	work, err := workDir(root, account)
	if err != nil {
		return nil, fmt.Errorf("work directory: %w", err)
	}
	e := &Env{Root: root, Work: work, Account: account, Generator: filepath.Join(root, "build", "bin", "tpchgen-cli")}
	if e.Prefix, err = preparePrefix(account, root, work, server); err != nil {
		return nil, err
	}
	if e.Daemon, err = placeDaemon(root, work); err != nil {
		return nil, err
	}
	return e, nil
}

// placeDaemon copies the daemon to where the account can run it. The copy's
// name depends on its content, because an older copy may be running.
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
