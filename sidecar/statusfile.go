package sidecar

import (
	"fmt"
	"os"

	"gpujoin/shm"
)

// statusFile is "<socket>.status": backends read it while they plan. Its lock
// says that the daemon lives, its content how fast joins are.
type statusFile struct {
	path    string
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

// publish writes the file beside its place, locks it, and renames it there,
// so that no reader ever sees part of it or finds it unlocked.
func publish(path string, content shm.Status) (*statusFile, error) {
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("status file: %w", err)
	}
	f, err := openLocked(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, fmt.Errorf("status file: %w", err)
	}
	s := &statusFile{path: path, file: f, content: content}
	if err := s.write(); err == nil {
		err = os.Rename(temporary, path)
	} else {
		_ = os.Remove(temporary) // it is of no use, and the error stands
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("status file: %w", err)
	}
	return s, nil
}

func (s *statusFile) write() error {
	_, err := s.file.WriteAt(shm.Append(nil, &s.content), 0)
	return err
}

// stopping tells planners to keep away.
func (s *statusFile) stopping() error {
	s.content.Stopping = 1
	return s.write()
}

// remove drops the lock and the file.
func (s *statusFile) remove() error {
	err := os.Remove(s.path)
	s.file.Close() // after which the lock is gone
	return err
}
