package spool

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, s *Spool) *File {
	t.Helper()
	f, err := s.Open()
	must(t, err)
	return f
}

// parts returns n bytes in three parts.
func parts(n int, fill byte) [][]byte {
	b := bytes.Repeat([]byte{fill}, n)
	return [][]byte{b[:n/3], b[n/3 : n/2], b[n/2:]}
}

// TestPieces writes pieces of many lengths and reads them in another order. No
// file has a name, and all space is given back.
func TestPieces(t *testing.T) {
	s := New(t.TempDir(), 1<<30)
	f := open(t, s)
	lengths := []int{1, block - 1, block, block + 1, 100_000, 0, 7}
	var pieces []Piece
	for i, n := range lengths {
		p, err := f.Write(parts(n, byte(i+1)))
		must(t, err)
		pieces = append(pieces, p)
	}
	if u := s.Usage(); u.Files != 1 || u.Bytes < 100_000 || u.Written < 100_000 || u.Bytes < u.Written {
		t.Errorf("%+v", u)
	}
	if names, err := os.ReadDir(s.dir); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
	for i := len(pieces) - 1; i >= 0; i-- {
		got := parts(lengths[i], 0)
		must(t, f.Read(pieces[i], got))
		if want := parts(lengths[i], byte(i+1)); !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
			t.Errorf("piece %d of %d bytes differs", i, lengths[i])
		}
	}
	if err := f.Read(pieces[0], parts(2, 0)); err == nil {
		t.Error("two bytes of a piece of one were read")
	}
	f.Close()
	if u := s.Usage(); u.Files != 0 || u.Bytes != 0 {
		t.Errorf("%+v", u)
	}
}

// TestLimit: all files have the limit together, and space that is read or closed
// counts no more.
func TestLimit(t *testing.T) {
	s := New(t.TempDir(), 10*block)
	a, b := open(t, s), open(t, s)
	first, err := a.Write(parts(6*block, 1))
	must(t, err)
	if _, err := b.Write(parts(5*block, 2)); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	_, err = b.Write(parts(4*block, 2))
	must(t, err)
	if _, err := b.Write(parts(1, 2)); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	b.Close()
	_, err = a.Write(parts(4*block, 3))
	must(t, err)
	must(t, a.Read(first, parts(6*block, 0)))
	_, err = a.Write(parts(6*block, 4)) // on a file system that gives space back
	must(t, err)
	a.Close()
	if u := s.Usage(); u.Files != 0 || u.Bytes != 0 {
		t.Errorf("%+v", u)
	}
}

// TestLostBytes: a file that has become shorter is an error, and so is a directory
// that does not exist.
func TestLostBytes(t *testing.T) {
	s := New(t.TempDir(), 1<<20)
	must(t, s.Check())
	f := open(t, s)
	p, err := f.Write(parts(1000, 1))
	must(t, err)
	must(t, f.file.Truncate(100))
	if err := f.Read(p, parts(1000, 0)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	f.Close()
	if err := New(s.dir+"/none", 1).Check(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestInMemory: a tmpfs is in memory, and a directory that does not exist is not.
func TestInMemory(t *testing.T) {
	if New("/dev/shm/none", 1).InMemory() {
		t.Error("a directory that does not exist is in memory")
	}
	if _, err := os.Stat("/dev/shm"); err != nil {
		t.Skip(err)
	}
	if !New("/dev/shm", 1).InMemory() {
		t.Error("/dev/shm is not in memory")
	}
}
