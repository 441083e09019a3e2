package sidecar

import (
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/planjson"
	"gpujoin/shm"
	"gpujoin/sidecar/filter"
	"gpujoin/sidecar/memory"
)

// Filters of keys: once an input has been fed completely, the job makes a filter
// of its keys, by which participants drop rows of other inputs before they feed
// them.

// keyFilter is a filter of the job for one target.
type keyFilter struct {
	source  *keySource
	tested  uint64
	dropped uint64
}

// keySource is a column of whose keys there is one filter, for all its targets.
// It is guarded by job.mu.
type keySource struct {
	column  joincore.ColumnRef
	targets []int          // inputs
	begun   bool           // the filter is being made
	made    bool           // the filter exists, or it is known that there is none
	extent  *memory.Extent // nil: no filter
	stats   shm.FilterStats
	waiting []filterWait
}

// filterWait is a FILTER_GET that is not answered yet.
type filterWait struct {
	p      *participant
	filter uint32
}

// addFilters adds the filters of the job's document.
func (j *job) addFilters(list []planjson.Filter) {
	for _, f := range list {
		at := slices.IndexFunc(j.sources, func(s *keySource) bool { return s.column == f.Source })
		if at < 0 {
			at = len(j.sources)
			j.sources = append(j.sources, &keySource{column: f.Source})
		}
		j.sources[at].targets = append(j.sources[at].targets, f.Target.Input)
		j.filters = append(j.filters, keyFilter{source: j.sources[at]})
	}
}

// sourceOf returns a filter's column of keys, or nil if the input is no source.
func (j *job) sourceOf(input uint32) *keySource {
	for _, s := range j.sources {
		if int64(s.column.Input) == int64(input) {
			return s
		}
	}
	return nil
}

// inputFed records that a participant has fed all its rows of an input
// (INPUT_FED).
func (j *job) inputFed(p *participant, v *shm.InputFed) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.failed != nil:
		return nil
	case v.Reserved != 0 || j.sourceOf(v.Input) == nil:
		return violation("INPUT_FED of input %d, which is no source of a filter", v.Input)
	case p.fed || j.exec != nil || p.done[v.Input]:
		return violation("INPUT_FED of input %d twice, or after FED", v.Input)
	}
	p.feeding, p.done[v.Input] = true, true
	j.completeInputs()
	return nil
}

// completeInputs starts to make the filters of inputs that all participants have
// fed. The caller holds j.mu.
//
// A participant attaches before it takes its first row of an input, and says
// that it is done only when no row is left to take. So if all that have attached
// say so, one that attaches later finds no row.
func (j *job) completeInputs() {
	for _, s := range j.sources {
		in := &j.fed[s.column.Input]
		unfinished := func(p *participant) bool { return !p.fed && !p.done[uint32(s.column.Input)] }
		if in.complete || slices.ContainsFunc(j.participants, unfinished) {
			continue
		}
		in.complete = true
		for _, s := range j.sources {
			if &j.fed[s.column.Input] == in && j.wanted(s) {
				j.startFilter(s)
			}
		}
	}
}

// wanted reports whether a participant will ask for a filter, or has done so. Inputs in the
// mode KEPT may have nothing to feed, so their participants ask only when they know that a
// filter is worth it. The caller holds j.mu.
func (j *job) wanted(s *keySource) bool {
	return len(s.waiting) > 0 || slices.ContainsFunc(s.targets, func(input int) bool { return j.fed[input].kept == nil && !mirrored(&j.inputs[input]) })
}

// startFilter makes a filter concurrently, once. The caller holds j.mu.
func (j *job) startFilter(s *keySource) {
	if s.begun {
		return
	}
	s.begun = true
	in := &j.fed[s.column.Input]
	relation := in.relation
	isMirror := mirrored(&j.inputs[s.column.Input])
	if isMirror {
		j.mirrors.users++
		j.readMirrors()
	}
	extents := slices.Clone(in.extents)
	for _, e := range extents { // the join may end, and free the input, before the filter is made
		e.Retain()
	}
	if in.kept != nil {
		in.kept.users++
		relation.Segments = append(slices.Clone(in.kept.settle()), relation.Segments...)
	}
	j.making.Go(func() {
		start := time.Now()
		var extent *memory.Extent
		var stats shm.FilterStats
		var err error
		if isMirror {
			relation, err = j.readMirror(s.column.Input)
		}
		if err == nil {
			extent, stats, err = j.filterOf(s, &relation)
		}
		for _, e := range extents {
			e.Release()
		}
		if in.kept != nil || isMirror {
			j.mu.Lock()
			if isMirror {
				j.mirrors.release()
			} else {
				in.kept.release()
			}
			j.mu.Unlock()
		}
		stats.US = uint64(time.Since(start).Microseconds())
		if err != nil {
			shm.PutText(stats.Reason[:], reasonOf(err))
		}
		j.filterMade(s, extent, stats)
	})
}

// filterOf makes a filter of the keys of a source. Of a kept or mirrored source, the rows that pass
// its condition are selected first.
func (j *job) filterOf(s *keySource, r *joincore.Relation) (*memory.Extent, shm.FilterStats, error) {
	column := s.column.Column
	if j.fed[s.column.Input].kept != nil || mirrored(&j.inputs[s.column.Input]) {
		keys, free, err := j.passing(s.column, r)
		if err != nil {
			return nil, shm.FilterStats{}, err
		}
		defer free()
		if keys != nil {
			r, column = keys, 0
		}
	}
	return j.makeFilter(r, column)
}

// makeFilter returns the filter in an extent, or an error if there is none. It
// turns panics into errors.
func (j *job) makeFilter(r *joincore.Relation, column int) (e *memory.Extent, stats shm.FilterStats, err error) {
	if e, err = j.account.SpareExtent(); err != nil {
		return nil, stats, err
	}
	defer func() {
		if p := recover(); p != nil {
			j.srv.log.Error("making a filter panicked", "job", j.id, "panic", p, "stack", string(debug.Stack()))
			err = errors.New("internal error of the daemon")
		}
		if err != nil {
			e.Release()
			e = nil
		}
	}()
	h, err := filter.Make(e.Data, r, column, rand.Uint64(), j.ended)
	stats.Keys = h.Keys
	if err == nil {
		stats.Kind, stats.Bytes = uint32(h.Kind), uint64(h.Bytes)
	}
	return e, stats, err
}

// reasonOf returns why there is no filter, for EXPLAIN.
func reasonOf(err error) string {
	if errors.Is(err, joincore.ErrBudget) || errors.Is(err, memory.ErrStore) {
		return "no memory is free for it"
	}
	return err.Error()
}

// ended reports whether the job has failed.
func (j *job) ended() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed != nil
}

// filterMade answers the participants that wait for a filter. extent is nil if
// there is none.
func (j *job) filterMade(s *keySource, extent *memory.Extent, stats shm.FilterStats) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s.made, s.stats = true, stats
	if j.failed != nil || j.exec != nil { // no participant feeds any more
		if extent != nil {
			extent.Release()
		}
		return
	}
	s.extent = extent
	for _, w := range s.waiting {
		j.sendFilter(w.p, w.filter)
	}
	s.waiting = nil
}

// filterGet sends a filter, now or when it is made (FILTER_GET).
func (j *job) filterGet(p *participant, v *shm.FilterGet) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.failed != nil:
		return nil
	case v.Reserved != 0 || int64(v.Filter) >= int64(len(j.filters)):
		return violation("FILTER_GET of filter %d, but the job has %d", v.Filter, len(j.filters))
	case p.fed || j.exec != nil || p.asked[v.Filter]:
		return violation("FILTER_GET of filter %d twice, or after FED", v.Filter)
	}
	s := j.filters[v.Filter].source
	if !p.done[uint32(s.column.Input)] {
		return violation("FILTER_GET of filter %d before INPUT_FED of its source", v.Filter)
	}
	p.asked[v.Filter] = true
	if s.made {
		j.sendFilter(p, v.Filter)
	} else {
		s.waiting = append(s.waiting, filterWait{p, v.Filter})
		if j.fed[s.column.Input].complete {
			j.startFilter(s)
		}
	}
	return nil
}

// sendFilter sends a filter that is made, which the participant holds until it
// sends RELEASE. The caller holds j.mu.
func (j *job) sendFilter(p *participant, filter uint32) {
	s := j.filters[filter].source
	m := shm.Filter{Filter: filter}
	var buf [64]byte
	if s.extent == nil {
		p.out.send(shm.AppendFrame(buf[:0], shm.MsgFilter, 0, &m))
		return
	}
	p.hold(s.extent, roleFilter)
	m.Extent, m.Kind = s.extent.ID, s.stats.Kind
	p.out.send(shm.AppendFrame(buf[:0], shm.MsgFilter, 1, &m), s.extent)
}

// filtered adds to the statistics of a filter (FILTERED).
func (j *job) filtered(v *shm.Filtered) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if v.Reserved != 0 || int64(v.Filter) >= int64(len(j.filters)) {
		return violation("FILTERED by filter %d, but the job has %d", v.Filter, len(j.filters))
	}
	f := &j.filters[v.Filter]
	f.tested += v.Tested
	f.dropped += v.Dropped
	return nil
}

// freeFilters releases the filters when no participant feeds any more. The
// caller holds j.mu.
func (j *job) freeFilters() {
	for _, s := range j.sources {
		if s.extent != nil {
			s.extent.Release()
		}
		s.extent, s.waiting = nil, nil
	}
}

// filterReports returns the statistics of the filters. The caller holds j.mu.
func (j *job) filterReports() (list []shm.FilterStats) {
	for i := range j.filters {
		s := j.filters[i].source
		r := s.stats
		if !s.begun {
			shm.PutText(r.Reason[:], "too few rows are fed")
		}
		r.Tested, r.Dropped = j.filters[i].tested, j.filters[i].dropped
		list = append(list, r)
	}
	return list
}
