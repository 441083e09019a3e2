// Package spool keeps bytes on disk, in unnamed temporary files: nothing of
// them is left when the process ends, in whatever way. Only the process's user
// can open them.
package spool

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrFull reports that a Spool has no room for more bytes.
var ErrFull = errors.New("the limit on bytes in spool files is reached")

// Spool is a directory for files, which together have at most limit bytes.
type Spool struct {
	dir   string
	limit int64

	mu    sync.Mutex
	usage Usage
}

// Usage is a snapshot of a Spool.
type Usage struct {
	Files   int   // open files
	Bytes   int64 // on disk now
	Written int64 // since the start
}

// New returns a spool of files in dir, of at most limit bytes.
func New(dir string, limit int64) *Spool { return &Spool{dir: dir, limit: limit} }

// Enabled reports whether the limit allows any bytes.
func (s *Spool) Enabled() bool { return s.limit > 0 }

// Check returns an error if no file can be created.
func (s *Spool) Check() error {
	f, err := s.Open()
	if err == nil {
		f.Close()
	}
	return err
}

// InMemory reports whether the directory is in a file system that is in memory.
func (s *Spool) InMemory() bool {
	var fs unix.Statfs_t
	return unix.Statfs(s.dir, &fs) == nil && (fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC)
}

// Usage returns a snapshot of s.
func (s *Spool) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage
}

// Open creates an empty file.
func (s *Spool) Open() (*File, error) {
	f, err := createUnnamed(s.dir)
	if err != nil {
		return nil, fmt.Errorf("could not create a spool file: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage.Files++
	return &File{spool: s, file: f}, nil
}

// createUnnamed creates a file of mode 0600 without a name. A file system that
// cannot do that gets one whose name is removed at once.
func createUnnamed(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err == nil || !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) {
		return f, err
	}
	if f, err = os.CreateTemp(dir, "gpujoind-"); err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// reserve counts n more bytes, or returns ErrFull.
func (s *Spool) reserve(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > s.limit-s.usage.Bytes {
		return fmt.Errorf("%w: %d of %d bytes are in use, %d more needed", ErrFull, s.usage.Bytes, s.limit, n)
	}
	s.usage.Bytes += n
	return nil
}

func (s *Spool) release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage.Bytes -= n
}

func (s *Spool) wrote(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage.Written += n
}

func (s *Spool) closed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage.Files--
}
