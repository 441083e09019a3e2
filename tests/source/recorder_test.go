package source

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gpujoin/sidecar/mirror/pgout"
	"gpujoin/sidecar/source"
)

// null is how rows show NULL.
const null = "null"

// recorder is a target that keeps rows by key, as the source sends their values, in hex. It
// fails what a mirror must not accept: a key twice, or one that is not there.
type recorder struct {
	mu      sync.Mutex
	tables  map[string]*recorded // that have joined, by schema.name
	pending []func() error       // of the open transaction
	commits int
	at      source.LSN
	faults  []string
	resets  int
	aborts  int
	check   func(map[string]*recorded) string // after each commit
	begins  func()                            // before a load
	batches func()                            // before a batch
}

// recorded are the rows of a table.
type recorded struct {
	table *source.Table
	rows  map[string][]string // by key
}

func newRecorder() *recorder { return &recorder{tables: map[string]*recorded{}} }

func nameOf(t *source.Table) string { return t.Schema + "." + t.Table }

func (r *recorder) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func values(v source.Values) []string {
	row := make([]string, len(v))
	for i, x := range v {
		switch x.Kind {
		case pgout.Null:
			row[i] = null
		case pgout.Unchanged:
			row[i] = "unchanged"
		default:
			row[i] = hex.EncodeToString(x.Data)
		}
	}
	return row
}

func (t *recorded) key(row []string) string {
	var key []string
	for _, at := range t.table.Key {
		key = append(key, row[at])
	}
	return strings.Join(key, " ")
}

func (t *recorded) apply(kind source.Kind, now, key []string) error {
	old := ""
	if key != nil {
		old = t.key(key)
	} else if now != nil {
		old = t.key(now)
	}
	switch kind {
	case source.Truncate:
		clear(t.rows)
		return nil
	case source.Update, source.Delete:
		before, ok := t.rows[old]
		if !ok {
			return fmt.Errorf("no row of %s has the key %s", nameOf(t.table), old)
		}
		for i, v := range now {
			if v == "unchanged" {
				now[i] = before[i]
			}
		}
		delete(t.rows, old)
	}
	if kind == source.Delete {
		return nil
	}
	if _, ok := t.rows[t.key(now)]; ok {
		return fmt.Errorf("a row of %s has the key %s already", nameOf(t.table), t.key(now))
	}
	t.rows[t.key(now)] = now
	return nil
}

// change returns the change as a function: its values are valid only now.
func change(t *recorded, c *source.Change) func() error {
	var now, key []string
	if c.New != nil {
		now = values(c.New)
	}
	if c.Key != nil {
		key = values(c.Key)
	}
	kind := c.Kind
	return func() error { return t.apply(kind, now, key) }
}

func (r *recorder) Change(c *source.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tables[nameOf(c.Table)]
	if t == nil || t.table != c.Table {
		r.fault("a change of %s, which has not joined", c.Table.Name)
		return errors.New("not joined")
	}
	r.pending = append(r.pending, change(t, c))
	return nil
}

func (r *recorder) Commit(end source.LSN, at time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.pending {
		if err := f(); err != nil {
			r.fault("%v", err)
		}
	}
	r.pending = nil
	r.commits++
	if end <= r.at {
		r.fault("the position went from %d to %d", r.at, end)
	}
	if d := time.Since(at); d < -time.Minute || d > time.Hour {
		r.fault("a commit at %v", at)
	}
	r.at = end
	r.invariant()
	return nil
}

func (r *recorder) invariant() {
	if r.check == nil {
		return
	}
	if text := r.check(r.tables); text != "" {
		r.fault("at %d: %s", r.at, text)
	}
}

func (r *recorder) Received(at source.LSN) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) > 0 {
		r.fault("a position within a transaction")
	}
	if at < r.at {
		r.fault("the position went from %d to %d", r.at, at)
	}
	r.at = at
}

func (r *recorder) Abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = nil
	r.aborts++
}

func (r *recorder) Fail(t *source.Table, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tables, nameOf(t))
}

func (r *recorder) Reset(error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.tables)
	r.pending, r.at = nil, 0
	r.resets++
}

// rows returns the rows of a table, sorted; each is its values with blanks between.
func (r *recorder) rowsOf(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tables[name]
	if t == nil {
		return []string{"not joined"}
	}
	var rows []string
	for _, row := range t.rows {
		rows = append(rows, strings.Join(row, " "))
	}
	slices.Sort(rows)
	return rows
}

func (r *recorder) takeFaults() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.faults
	r.faults = nil
	return f
}

// filling is a table that loads into a recorder.
type filling struct {
	recorder *recorder
	mu       sync.Mutex
	recorded *recorded
}

func (r *recorder) Begin(t *source.Table) (source.Loading, error) {
	if r.begins != nil {
		r.begins()
	}
	return &filling{recorder: r, recorded: &recorded{table: t, rows: map[string][]string{}}}, nil
}

func (f *filling) Batch(b *source.Batch) error {
	if f.recorder.batches != nil {
		f.recorder.batches()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range b.Rows {
		row := make([]string, b.Columns)
		for c := range row {
			row[c] = null
			if v := b.Value(r, c); v != nil {
				row[c] = hex.EncodeToString(v)
			}
		}
		if err := f.recorded.apply(source.Insert, row, nil); err != nil {
			return err
		}
	}
	return nil
}

func (f *filling) Change(c *source.Change) error { return change(f.recorded, c)() }

func (f *filling) Join(at source.LSN) error {
	r := f.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if at < r.at {
		r.fault("joins at %d, when the main stream is at %d", at, r.at)
	}
	r.tables[nameOf(f.recorded.table)] = f.recorded
	r.invariant()
	return nil
}

func (f *filling) Abandon(error) {}
