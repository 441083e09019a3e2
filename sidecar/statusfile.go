package sidecar

import (
	"fmt"
	"os"
	"sync"

	"gpujoin/shm"
)

// statusFile is "<socket>.status": backends read it while they plan. Its lock
// says that the daemon lives, its content how fast joins are.
type statusFile struct {
	path string

	mu      sync.Mutex
	file    *os.File
	content shm.Status
}

func (o *Options) status() shm.Status {
	s := shm.Status{
		Magic: shm.StatusMagic, Version: shm.LayoutVersion, PID: int32(os.Getpid()),
		Cores: uint32(o.Cores), ExtentSize: uint64(o.ExtentSize), Budget: uint64(o.Budget),
		BuildNS: o.Rates.BuildNS, ProbeNS: o.Rates.ProbeNS, ColumnNS: o.Rates.ColumnNS,
	}
	shm.PutText(s.DaemonVersion[:], Version)
	return s
}

// publish puts a status file in place.
func publish(path string, content shm.Status) (*statusFile, error) {
	s := &statusFile{path: path, content: content}
	if err := s.place(); err != nil {
		return nil, fmt.Errorf("status file: %w", err)
	}
	return s, nil
}

// place writes the file beside its place, locks it, and renames it there, so
// that no reader ever sees part of it or finds it unlocked.
func (s *statusFile) place() error {
	temporary := s.path + ".new"
	if err := os.Remove(temporary); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := openLocked(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(shm.Append(nil, &s.content), 0)
	if err == nil {
		err = os.Rename(temporary, s.path)
	}
	if err != nil {
		f.Close()
		_ = os.Remove(temporary) // the first error counts
		return err
	}
	if s.file != nil {
		s.file.Close()
	}
	s.file = f
	return nil
}

// beat writes a new load, sealed, in place: one write of all its bytes.
func (s *statusFile) beat(load shm.Load) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content.Load = load.Seal()
	_, err := s.file.WriteAt(shm.Append(nil, &s.content.Load), shm.LoadOffset())
	return err
}

// restore puts the file back if it was taken away.
func (s *statusFile) restore() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ours, err := s.file.Stat()
	if err != nil {
		return err
	}
	if file, err := os.Lstat(s.path); err == nil && os.SameFile(file, ours) {
		return nil
	}
	return s.place()
}

// stopping tells planners to keep away.
func (s *statusFile) stopping() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content.Stopping = 1
	_, err := s.file.WriteAt(shm.Append(nil, &s.content), 0)
	return err
}

// remove drops the lock and the file.
func (s *statusFile) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := os.Remove(s.path)
	s.file.Close() // after which the lock is gone
	return err
}
