package sqltest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// held is what the daemon and the server hold between statements.
type held struct {
	Files     int // of the daemon, that are neither memfds nor sockets
	Sockets   int // of the daemon
	Children  int // processes of the daemon
	Workers   int // parallel workers of the server
	Temporary int // files of the server
	Segments  int // files of the server's dynamic shared memory, if that is in files
}

func (h held) within(base held) bool {
	return h.Files <= base.Files && h.Sockets <= base.Sockets && h.Children <= base.Children &&
		h.Workers <= base.Workers && h.Temporary <= base.Temporary && h.Segments <= base.Segments
}

// look reads what is held. s is any session.
func (w *World) look(ctx context.Context, s *harness.Session) (h held, err error) {
	d, err := harness.HoldingsOf(w.Daemon.PID())
	if err != nil {
		return h, err
	}
	h.Files, h.Sockets = d.FDs-d.MemFDs-d.Sockets, d.Sockets
	children, err := harness.ChildrenOf(w.Daemon.PID())
	if err != nil {
		return h, err
	}
	h.Children = len(children)
	n, err := s.One(ctx, "select count(*) from pg_stat_activity where backend_type = 'parallel worker'")
	if err != nil {
		return h, err
	}
	if h.Workers, err = strconv.Atoi(n); err != nil {
		return h, err
	}
	if h.Temporary, err = filesBelow(filepath.Join(w.Cluster.Data, "base", "pgsql_tmp")); err != nil {
		return h, err
	}
	h.Segments, err = filesBelow(filepath.Join(w.Cluster.Data, "pg_dynshmem"))
	return h, err
}

// filesBelow counts the files in a directory and all below it.
func filesBelow(dir string) (n int, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n++
		}
		if os.IsNotExist(err) { // the directory, or a file that has just been removed
			return nil
		}
		return err
	})
	return n, err
}

// Unleaked waits until the daemon and the server hold no more than when the world was new,
// and all shared memory of the daemon is that of its extents.
func (w *World) Unleaked(t testing.TB, s *harness.Session) {
	t.Helper()
	var now held
	var memory string
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		ctx, cancel := Bounded()
		var err error
		now, err = w.look(ctx, s)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		memory = w.memory(t, s)
		if memory == "" && now.within(w.base) {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	if memory != "" {
		point.Leak(t, "%s", memory)
	}
	if !now.within(w.base) {
		point.Leak(t, "held now: %+v; when everything was new: %+v", now, w.base)
	}
}

// memory says what shared memory the daemon holds that is in no extent, "" if none.
func (w *World) memory(t testing.TB, s *harness.Session) string {
	t.Helper()
	pool := ReportOf(t, s).Pool
	d, err := harness.HoldingsOf(w.Daemon.PID())
	if err != nil {
		t.Fatal(err)
	}
	if size := int64(pool.Extents) * pool.ExtentSize; d.MemFDs > pool.Extents || d.Mapped > size {
		return fmt.Sprintf("the daemon has %d memfds and maps %d bytes of memfds for %d extents of %d bytes", d.MemFDs, d.Mapped, pool.Extents, pool.ExtentSize)
	}
	return ""
}

// Renewed takes what is held now for the state when everything was new: the daemon has a
// worker by now.
func (w *World) Renewed(t testing.TB) {
	t.Helper()
	ctx, cancel := Bounded()
	defer cancel()
	var err error
	if w.base, err = w.look(ctx, w.Witness); err != nil {
		t.Fatal(err)
	}
}
