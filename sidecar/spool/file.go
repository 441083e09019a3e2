package spool

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

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
			f.spool.release(p.space())
			return Piece{}, fmt.Errorf("could not write a spool file: %w", err)
		}
	}
	f.end += p.space()
	f.bytes += p.space()
	f.spool.wrote(p.length)
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
		f.spool.release(p.space())
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
	f.spool.release(f.bytes)
	f.bytes = 0
	f.spool.closed()
}
