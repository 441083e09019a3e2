package sidecar

import (
	"bytes"
	"cmp"
	"math"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"gpujoin/shm"
	"gpujoin/sidecar/kept"
)

// keptFile is "<socket>.kept", by which planners estimate how much of a table must be fed.
type keptFile struct {
	path    string
	store   *kept.Store
	content []byte        // without its version
	version atomic.Uint64 // of the file, for the load; 0: there is none
}

// keptPeriod is the shortest time between two files.
const keptPeriod = time.Second

// remove deletes the file of an earlier daemon, or of this one.
func (f *keptFile) remove() error {
	f.version.Store(0)
	if err := os.Remove(f.path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// update puts a new file in place if other columns are kept than the last one says.
func (f *keptFile) update() error {
	columns := keptColumns(f.store.Tables())
	content := shm.AppendKeptFile(nil, 0, columns)
	if bytes.Equal(content, f.content) {
		return nil
	}
	// Versions of all daemons differ, because a backend may know that of an earlier one.
	version := uint64(max(time.Now().UnixNano(), int64(f.version.Load())+1))
	temporary := f.path + ".new"
	if err := os.WriteFile(temporary, shm.AppendKeptFile(nil, version, columns), 0o600); err != nil {
		return err
	}
	if err := os.Rename(temporary, f.path); err != nil {
		_ = os.Remove(temporary) // the first error counts
		return err
	}
	f.content = content
	f.version.Store(version)
	return nil
}

// keptColumns returns what planners learn of tables: those that cannot be kept, and then the
// columns with the most bytes first.
func keptColumns(tables []kept.TableInfo) []shm.KeptColumn {
	type sized struct {
		shm.KeptColumn
		bytes int64
	}
	var all []sized
	for i := range tables {
		t := &tables[i]
		if t.Superseded {
			continue
		}
		if t.Refused() {
			all = append(all, sized{shm.KeptColumn{
				SystemIdentifier: t.Table.System, ServerStart: t.Table.Start, Database: t.Table.Database, Tablespace: t.Table.Tablespace,
				File: t.Table.File,
			}, math.MaxInt64})
		}
		for k := range t.Columns {
			c := &t.Columns[k]
			all = append(all, sized{shm.KeptColumn{
				SystemIdentifier: t.Table.System, ServerStart: t.Table.Start, Database: t.Table.Database, Tablespace: t.Table.Tablespace,
				File: t.Table.File, Attnum: c.Column.Attnum, Share: uint16(math.Round(t.Fraction(c) * shm.WholeTable)),
			}, c.Bytes})
		}
	}
	slices.SortFunc(all, func(a, b sized) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.File, b.File), cmp.Compare(a.Attnum, b.Attnum))
	})
	columns := make([]shm.KeptColumn, len(all))
	for i := range all {
		columns[i] = all[i].KeptColumn
	}
	return columns
}

// publishKept keeps the file up to date until the server ends.
func (srv *Server) publishKept() {
	tick := time.NewTicker(keptPeriod)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-srv.ctx.Done():
			return
		case <-tick.C:
		}
		if err := srv.keptFile.update(); err != nil && err.Error() != said {
			said = err.Error()
			srv.log.Error("could not publish which columns are kept", "file", srv.keptFile.path, "error", err)
		}
	}
}
