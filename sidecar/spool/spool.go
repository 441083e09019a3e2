// Package spool keeps bytes on disk, in unnamed temporary files: nothing of
// them is left when the process ends, in whatever way. Only the process's user
// can open them.
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrFull reports that a Spool has no room for more bytes.
var ErrFull = errors.New("the limit on bytes in spool files is reached")

// Spool is a directory for files, whose bytes have a limit.
type Spool struct {
	dir string

	mu    sync.Mutex
	usage Usage
}

// Usage is a snapshot of a Spool.
type Usage struct {
	Files   int   `json:"files"`   // open files
	Bytes   int64 `json:"-"`       // on disk now
	Limit   int64 `json:"limit"`   // of Bytes
	Written int64 `json:"written"` // bytes since the start
}

// New returns a spool of files in dir, of at most limit bytes.
func New(dir string, limit int64) *Spool { return &Spool{dir: dir, usage: Usage{Limit: limit}} }

// Enabled reports whether the limit allows any bytes.
func (s *Spool) Enabled() bool { return s.usage.Limit > 0 }

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
	s.count(1, 0, 0)
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
	if n > s.usage.Limit-s.usage.Bytes {
		return fmt.Errorf("%w: %d of %d bytes are in use, %d more needed", ErrFull, s.usage.Bytes, s.usage.Limit, n)
	}
	s.usage.Bytes += n
	return nil
}

// count adds to the usage.
func (s *Spool) count(files int, bytes, written int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage.Files += files
	s.usage.Bytes += bytes
	s.usage.Written += written
}

// File holds pieces of bytes. Its methods must not be called concurrently.
type File struct {
	spool *Spool
	file  *os.File
	end   int64
	bytes int64 // counted in the spool's usage
}

// Piece is a part of a File.
type Piece struct {
	offset, length int64
}

// block is the unit in which file systems return space.
const block = 4096

// space returns the bytes that the piece occupies on disk.
func (p Piece) space() int64 { return (p.length + block - 1) / block * block }

// Bytes returns the length of the piece.
func (p Piece) Bytes() int64 { return p.length }

// Write appends the bytes of all parts to the file, as one piece. Errors wrap
// ErrFull or are the system's.
func (f *File) Write(parts [][]byte) (Piece, error) {
	p := Piece{f.end, total(parts)}
	if err := f.spool.reserve(p.space()); err != nil {
		return Piece{}, err
	}
	at := p.offset
	for _, b := range parts {
		n, err := f.file.WriteAt(b, at)
		if at += int64(n); err != nil {
			_ = f.punch(Piece{p.offset, at - p.offset}) // a later piece has the same place
			f.spool.count(0, -p.space(), 0)
			return Piece{}, fmt.Errorf("could not write a spool file: %w", err)
		}
	}
	f.end += p.space()
	f.bytes += p.space()
	f.spool.count(0, 0, p.length)
	return p, nil
}

// Read reads a piece into parts, whose lengths are those that were written, and
// frees its space.
func (f *File) Read(p Piece, parts [][]byte) error {
	if n := total(parts); n != p.length {
		return fmt.Errorf("%d bytes of a spool file are asked for instead of %d", n, p.length)
	}
	at := p.offset
	for _, b := range parts {
		n, err := f.file.ReadAt(b, at)
		if at += int64(n); err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("could not read a spool file: %d of %d bytes: %w", at-p.offset, p.length, err)
		}
	}
	f.free(p)
	return nil
}

func total(parts [][]byte) (n int64) {
	for _, b := range parts {
		n += int64(len(b))
	}
	return n
}

// free gives the space of a piece back to the file system. If that cannot do
// so, the space stays in use until the file is closed.
func (f *File) free(p Piece) {
	if f.punch(p) == nil {
		f.bytes -= p.space()
		f.spool.count(0, -p.space(), 0)
	}
}

func (f *File) punch(p Piece) error {
	if p.length == 0 {
		return nil
	}
	return unix.Fallocate(int(f.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, p.offset, p.space())
}

// Close closes the file, which removes it.
func (f *File) Close() {
	_ = f.file.Close() // its content is not needed any more
	f.spool.count(-1, -f.bytes, 0)
	f.bytes = 0
}
