package sidecar

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/memory"
	"gpujoin/sidecar/plan"
)

// job is one offloaded join: what its participants feed, and its execution.
// It ends when the last of its sessions leaves.
type job struct {
	srv      *Server
	id       uint64
	pid      int32  // of the backend whose query it is
	database uint32 // of that backend
	token    [shm.TokenSize]byte
	open     shm.Open
	plan     *joincore.Plan
	inputs   []plan.Input
	outputs  []shm.ColumnShape
	account  *memory.Account
	queued   time.Duration
	started  time.Time

	members atomic.Pointer[[]*session] // the opener, then sessions

	mu        sync.Mutex
	sessions  []*session
	fed       []input
	chains    map[uint64]chainExtent // by the names of layout.h
	rowsIn    int64
	bytesIn   int64
	exec      *execution // the current one, nil before RUN
	freed     bool       // inputs and chains are given back
	failed    *failure   // set once
	releasing bool
	past      map[int32]shm.ParticipantStats // of sessions that have left
}

// input is what was fed of one input.
type input struct {
	shapes   []shm.ColumnShape
	relation joincore.Relation
	extents  []*memory.Extent
}

func newJob(opener *session, decoded *plan.Job, open shm.Open) *job {
	j := &job{
		srv: opener.srv, pid: opener.group()[0], database: opener.hello.Database,
		open: open, plan: decoded.Plan, inputs: decoded.Inputs,
		chains: map[uint64]chainExtent{}, past: map[int32]shm.ParticipantStats{}, fed: make([]input, len(decoded.Inputs)), started: time.Now(),
	}
	j.members.Store(&[]*session{opener})
	for i := range j.fed {
		columns := decoded.Plan.Inputs[i].Columns
		j.fed[i].relation.Columns = columns
		for _, c := range columns {
			j.fed[i].shapes = append(j.fed[i].shapes, shapeOf(c))
		}
	}
	for _, ref := range decoded.Plan.Output {
		j.outputs = append(j.outputs, j.fed[ref.Input].shapes[ref.Column])
	}
	return j
}

func shapeOf(c joincore.Column) shm.ColumnShape {
	s := shm.ColumnShape{Encoding: shm.EncFixed, Width: uint16(c.Width), Align: uint8(c.Align)}
	if c.Kind == joincore.Varlena {
		s.Encoding = shm.EncVarlena
	}
	return s
}

// need estimates the memory of the whole job: extents of inputs, of which
// every participant leaves one partly filled, a window of result batches, and
// what the join asks for. It fails if a result row cannot fit an extent.
func (j *job) need() (int64, error) {
	size := float64(j.srv.store.ExtentSize())
	if _, err := shm.PlanBatch(int(size), j.outputs, nil); err != nil {
		return 0, err
	}
	extents := float64(j.window())
	for i := range j.fed {
		row := 0.0
		for _, s := range j.fed[i].shapes {
			row += float64(s.Width) + 0.125
			if s.Encoding == shm.EncVarlena {
				row += 4
			}
		}
		row = math.Max(row, j.inputs[i].RowBytes)
		full := math.Ceil(j.plan.Inputs[i].Rows * row / (size - 4096))
		extents += full + math.Min(full, float64(j.open.Participants-1)) + 1
	}
	total := extents*size + float64(j.srv.backends.Estimate(j.plan))
	if total >= math.MaxInt64/2 {
		return math.MaxInt64 / 2, nil // more than any budget
	}
	return int64(total), nil
}

// window is how many result batches may exist at a time: two for every
// participant, one that it reads and one that follows, and else enough to keep
// the join busy, few where little is expected.
func (j *job) window() int {
	most := j.srv.options.Window
	participants := int(j.open.Participants)
	least := max(2*participants, min(most, 2+2*participants))
	row := 0.0
	for _, s := range j.outputs {
		row += math.Max(float64(s.Width), 8)
	}
	expected := math.Ceil(j.expectedRows()*row/float64(j.srv.store.ExtentSize())) + 1
	return int(math.Max(float64(least), math.Min(expected, float64(most))))
}

// handle acts on a frame of a participant. An error is a violation.
func (j *job) handle(s *session, m shm.Message, body []byte) error {
	switch m {
	case shm.MsgWant:
		return decoded(body, func(v *shm.Want) error { return j.want(s, v) })
	case shm.MsgFilled:
		return decoded(body, func(v *shm.Filled) error { return j.filled(s, v) })
	case shm.MsgChainFilled:
		return decoded(body, func(v *shm.ChainFilled) error { return j.chainFilled(s, v) })
	case shm.MsgFed:
		return decoded(body, func(v *shm.Fed) error { return j.fedBy(s, v) })
	case shm.MsgRun:
		return decoded(body, func(v *shm.Run) error { return j.run(s, v) })
	case shm.MsgNext:
		return decoded(body, func(v *shm.Next) error { return j.next(s, v) })
	case shm.MsgRelease:
		return decoded(body, func(v *shm.Release) error { return j.release(s, v) })
	case shm.MsgChainGet:
		return decoded(body, func(v *shm.ChainGet) error { return j.chainGet(s, v) })
	case shm.MsgReturned:
		return decoded(body, func(v *shm.Returned) error { return j.returned(s, v) })
	case shm.MsgStatsGet:
		s.out.send(j.report())
		return nil
	}
	return violation("%s within a job", m)
}

func decoded[T shm.Struct](body []byte, act func(*T) error) error {
	v, err := shm.Decode[T](body)
	if err != nil {
		return violation("%v", err)
	}
	return act(&v)
}

// fail ends the job: every participant is told once, the join is cancelled
// and everything freed but what participants still map.
func (j *job) fail(f *failure) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failLocked(f)
}

func (j *job) failLocked(f *failure) {
	if j.failed != nil {
		return
	}
	j.srv.counters.fail(f, j.exec != nil && j.exec.announced)
	j.end(f)
}

// abandon ends the job because one of its participants has left it.
func (j *job) abandon(f *failure) {
	switch {
	case j.failed != nil:
		return
	case j.exec != nil && j.exec.produced && len(j.exec.ready) == 0:
		j.srv.counters.finished.Add(1)
	default:
		j.srv.counters.cancelled.Add(1)
	}
	j.end(f)
}

// end tells the participants why the job is over and frees it. The caller has
// locked j.
func (j *job) end(f *failure) {
	j.failed = f
	for _, s := range j.sessions {
		s.fail(f)
	}
	if j.exec != nil {
		j.exec.cancel()
		j.exec.dropReady()
	}
	if !j.releasing {
		j.releasing = true
		j.srv.background.Add(1)
		go j.tearDown(j.exec)
	}
}

// tearDown frees the job's memory once nothing works on it any more.
func (j *job) tearDown(exec *execution) {
	defer j.srv.background.Done()
	if exec != nil {
		<-exec.done
	}
	j.mu.Lock()
	if exec != nil {
		exec.dropReady()
	}
	j.freeInputs()
	j.freeChains()
	j.mu.Unlock()
	j.account.Close()
	j.srv.jobEnded(j)
}

// freeInputs gives the extents of the inputs back. The caller has locked j,
// and no join reads them.
func (j *job) freeInputs() {
	j.freed = true
	for i := range j.fed {
		for _, e := range j.fed[i].extents {
			e.Release()
		}
		j.fed[i].extents, j.fed[i].relation.Segments = nil, nil
	}
}

// setSessions changes who takes part. The caller has locked j.
func (j *job) setSessions(sessions []*session) {
	j.sessions = sessions
	j.members.Store(&sessions)
}

// present says whether a participant has not hung up. The budget asks it under
// its own lock, so it takes none.
func (j *job) present() bool {
	return slices.ContainsFunc(*j.members.Load(), (*session).present)
}

// leave takes a session off: its socket reached end of file, so that it maps
// nothing any more. What it fed stays; what it was dealt is freed.
func (j *job) leave(s *session) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.setSessions(slices.DeleteFunc(slices.Clone(j.sessions), func(o *session) bool { return o == s }))
	j.past[s.stats.Participant] = sumStats(j.past[s.stats.Participant], s.stats)
	for id, h := range s.held {
		delete(s.held, id)
		for range h.times {
			h.extent.Release()
		}
		if h.exec != nil {
			h.exec.dealer.back(h.reader)
			h.exec.batchBack()
		}
	}
	if s.reader != nil {
		j.exec.dealer.leave(s.reader)
	}
	switch {
	case len(j.sessions) == 0:
		j.srv.removeJob(j)
		j.abandon(failf(shm.FailInternal, "all participants have left the job"))
	case s.feeding && !s.fed:
		j.abandon(failf(shm.FailInternal, "participant %d left while it fed", s.stats.Participant))
	default:
		j.deal()
	}
}

// state names where the job stands, for STATUS.
func (j *job) state() string {
	switch {
	case j.failed != nil:
		return "failed"
	case j.exec == nil:
		return "feeding"
	case !j.exec.announced:
		return "running"
	case j.exec.produced && len(j.exec.ready) == 0:
		return "done"
	}
	return "streaming"
}
