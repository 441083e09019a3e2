package harness

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// longestSocket is the length that the longest socket path adds to the work
// directory's. sun_path holds 108 bytes with the NUL.
const longestSocket = len("/c0000000000/s/.s.PGSQL.5432.lock")

// Root returns the repository's root: the nearest directory, upwards from the
// current one, with the main module.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module gpujoin\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("not inside the gpujoin repository")
		}
		dir = filepath.Dir(dir)
	}
}

// workDir returns the directory for the private installation, clusters and
// sockets: build/run. If the account cannot enter that (a clone in root's home)
// or socket paths would be too long, it is a directory in /var/tmp that belongs
// to this clone.
func workDir(root string, a Account) (string, error) {
	dir := filepath.Join(root, "build", "run")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if a.canEnter(dir) && len(dir)+longestSocket < 108 {
		return dir, nil
	}
	sum := sha256.Sum256([]byte(root))
	dir = fmt.Sprintf("/var/tmp/gpujoin-%d-%x", os.Geteuid(), sum[:6])
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	// Anyone may write to /var/tmp: an existing directory must be this user's.
	if st := info.Sys().(*syscall.Stat_t); !info.IsDir() || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("%s exists and is not a directory that only this user can write", dir)
	}
	link := filepath.Join(root, "build", "run.elsewhere")
	if err := os.WriteFile(link, []byte(dir+"\n"), 0o644); err != nil {
		return "", err
	}
	return dir, nil
}

// lock takes an exclusive lock on path and returns a function that releases it.
func lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
