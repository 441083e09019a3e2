package sidecar

import (
	"fmt"
	"os"
	"sync"

	"gpujoin/joincore/planjson"
	"gpujoin/shm"

	"golang.org/x/sys/unix"
)

// statusFile is "<socket>.status", which backends read while they plan. Its
// lock shows that the daemon is running; its content holds the rates of joins.
type statusFile struct {
	path string

	mu      sync.Mutex
	file    *os.File
	content shm.Status
}

func (o *Options) status() shm.Status {
	rates := o.Rates.Now()
	s := shm.Status{
		Magic: shm.StatusMagic, Version: shm.LayoutVersion, ProtocolVersion: shm.ProtocolVersion, JobVersion: planjson.Version, PID: int32(os.Getpid()),
		Cores: uint32(o.Cores), Processors: uint32(o.Processors), ExtentSize: uint64(o.ExtentSize), Budget: uint64(o.MemoryBudget),
		BuildNS: rates.BuildNS, ProbeNS: rates.ProbeNS, ColumnNS: rates.ColumnNS,
		GroupNS: rates.GroupNS, FunctionNS: rates.FunctionNS, OperationNS: rates.OperationNS, ConditionNS: rates.ConditionNS,
		CachedProbeNS: rates.Machine.ProbeNS, MemoryLoadNS: rates.Machine.LoadNS,
		CachedBytes: rates.Machine.CachedBytes, UncachedBytes: rates.Machine.UncachedBytes,
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

// place writes the file under a temporary name, locks it and renames it, so
// that no reader sees a partial or unlocked file.
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

// beat dates and seals the load and overwrites it in place with one write.
func (s *statusFile) beat(load shm.Load) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	load.AtUS = uint64(now.Nano() / 1000)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content.Load = load.Seal()
	_, err := s.file.WriteAt(shm.Append(nil, &s.content.Load), shm.LoadOffset())
	return err
}

// restore recreates the file if it was deleted.
func (s *statusFile) restore() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if leadsTo(s.path, s.file) {
		return nil
	}
	return s.place()
}

// update replaces the file by one with new content, except for what changes in
// place.
func (s *statusFile) update(content shm.Status) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	content.Stopping, content.Load = s.content.Stopping, s.content.Load
	s.content = content
	return s.place()
}

// stopping marks the daemon as stopping, so that planners do not use it.
func (s *statusFile) stopping() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content.Stopping = 1
	_, err := s.file.WriteAt(shm.Append(nil, &s.content), 0)
	return err
}

// remove deletes the file and releases its lock.
func (s *statusFile) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := os.Remove(s.path)
	s.file.Close() // after which the lock is gone
	return err
}
