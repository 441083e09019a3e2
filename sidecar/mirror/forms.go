package mirror

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"gpujoin/joincore"
	"gpujoin/sidecar/mirror/encode"
)

// forms are the forms of a storage's columns that readers have wanted. They lie in the mirrors'
// memory until the storage is gone, and grow with a segment that grows.
type forms struct {
	mu   sync.Mutex
	made map[formKey]*form
}

type formKey struct {
	column int
	form   encode.Form
	scale  int
}

// form is one column in one form. A NULL of the column is one of the form, so it has no bitmap of
// its own. What has been made is never written again.
type form struct {
	mu      sync.Mutex
	lane    lane
	rows    int // that have been made
	spans   []span
	content uint64
	err     error // some value has no representation
}

// find returns a form, of which nothing may have been made yet.
func (f *forms) find(w *Wanted) *form {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := formKey{w.Column, w.Form.Form, w.Form.Scale}
	if f.made == nil {
		f.made = map[formKey]*form{}
	}
	if f.made[key] == nil {
		f.made[key] = &form{content: joincore.NewContent()}
	}
	return f.made[key]
}

// dropForms gives the memory of all forms back. Nobody reads the storage any more.
func (st *storage) dropForms(a *arena) {
	for _, f := range st.forms.made {
		a.free(f.spans)
		if a.gone != nil && st.vectors != nil {
			a.gone(f.content)
		}
	}
	st.forms.made = nil
}

// dropForms gives the memory of all forms back that nobody reads, and reports whether there were any.
func (s *Server) dropForms() (dropped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tables {
		if t.rows == nil {
			continue
		}
		for _, seg := range t.rows.published.segments {
			if st := seg.shown; st.refs == 1 && len(st.forms.made) > 0 {
				st.dropForms(s.arena)
				dropped = true
			}
		}
	}
	return dropped
}

// formSource is the rows of a column that a form is made of.
type formSource struct {
	storage *storage
	column  joincore.Column
	lane    *lane
	bits    []byte // of the rows; nil: no NULLs
	rows    int
	form    *encode.Derivation
}

// until makes the form of all rows of a source that are missing, and returns the lane. alloc
// returns memory that stays.
func (f *form) until(src *formSource, alloc func(int) (span, error)) (*lane, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	if f.rows < src.rows {
		err := f.extend(src, alloc)
		if errors.Is(err, encode.ErrUnfit) || errors.Is(err, encode.ErrMalformed) || errors.Is(err, ErrTooLong) {
			f.err = err // for good: the values do not change
		}
		if err != nil {
			return nil, err
		}
	}
	return &lane{values: f.lane.values, heap: f.lane.heap}, nil
}

func (f *form) extend(src *formSource, alloc func(int) (span, error)) error {
	to := src.form.Column()
	take := func(n int) ([]byte, error) {
		s, err := alloc(n)
		if err == nil && s.extent != nil {
			f.spans = append(f.spans, s)
		}
		return s.data, err
	}
	if f.lane.values == nil {
		values := src.storage.capacity
		if to.Kind == joincore.Varlena {
			values++
		}
		data, err := take(values * to.StoredWidth())
		if err != nil {
			return err
		}
		if to.Kind == joincore.Varlena {
			binary.LittleEndian.PutUint32(data, 0)
		}
		f.lane.values = data
	}
	var err error
	if to.Kind == joincore.Varlena {
		err = f.extendVariable(src, take)
	} else {
		err = f.extendFixed(src, to.Width)
	}
	if err == nil {
		f.rows = src.rows
	}
	return err
}

// null reports whether a row of a source is NULL.
func (src *formSource) null(row int) bool { return src.bits != nil && src.bits[row/8]>>(row%8)&1 == 0 }

func (f *form) extendFixed(src *formSource, width int) error {
	for row := f.rows; row < src.rows; row++ {
		to := f.lane.values[width*row : width*row : width*(row+1)]
		if src.null(row) {
			clear(to[:width])
			continue
		}
		if _, err := src.form.Append(to, src.lane.value(src.column, row)); err != nil {
			return err
		}
	}
	return nil
}

// extendVariable makes the values in memory of Go first, because their size is not known.
func (f *form) extendVariable(src *formSource, take func(int) ([]byte, error)) (err error) {
	used := f.lane.used
	var heap []byte
	for row := f.rows; row < src.rows; row++ {
		if !src.null(row) {
			if heap, err = src.form.Append(heap, src.lane.value(src.column, row)); err != nil {
				return err
			}
		}
		binary.LittleEndian.PutUint32(f.lane.values[4*(row+1):], uint32(used+len(heap)))
	}
	if used+len(heap) > len(f.lane.heap) {
		want := used + len(heap)
		if src.rows < src.storage.capacity { // it grows: more rows of that size
			want = max(want, min(want+want/2, int(float64(want)*float64(src.storage.capacity)/float64(src.rows))))
		}
		grown, err := take(want)
		if err != nil {
			return fmt.Errorf("values of %d rows in another form: %w", src.rows, err)
		}
		copy(grown, f.lane.heap[:used])
		f.lane.heap = grown
	}
	f.lane.used = used + copy(f.lane.heap[used:], heap)
	return nil
}
