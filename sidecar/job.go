package sidecar

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/planjson"
	"gpujoin/shm"
	"gpujoin/sidecar/memory"
)

// job is one offloaded join: the inputs that its participants have fed, and the
// execution. It ends when its last session leaves.
type job struct {
	srv      *Server
	id       uint64
	pid      int32  // leader of the query's parallel group
	cluster  uint64 // system identifier
	database uint32 // the query's database (OID)
	token    [shm.TokenSize]byte
	open     shm.Open
	decoded  *planjson.Job
	inputs   []planjson.Input
	outputs  []shm.ColumnShape
	account  *memory.Account
	queued   time.Duration
	started  time.Time
	admitted time.Time

	ctx    context.Context // ends with the job
	cancel context.CancelFunc
	making sync.WaitGroup // filters that are being made, and reads of mirrored inputs, which use the job's memory

	members atomic.Pointer[[]*session] // of participants, read without mu; first only the opener

	mu           sync.Mutex
	participants []*participant
	plan         *joincore.Checked // of inputs that are fed; from RUN on, of those that are kept, too
	mask         uint64            // the inputs of plan that are kept
	fed          []input
	chains       map[uint64]chainExtent // by gj_chain_header.chain
	sources      []*keySource
	filters      []keyFilter // as in the job
	rowsIn       int64
	bytesIn      int64
	exec         *jobRun  // the current one, nil before RUN
	freed        bool     // the inputs were freed
	failed       *failure // set once
	releasing    bool
	mirrors      *mirrorInputs // nil: all inputs are fed
	mirrorsFreed bool
	past         map[int32]shm.ParticipantStats // of participants that have left, by number
}

// input holds the batches that were fed for one input of the plan.
type input struct {
	shapes   []shm.ColumnShape
	relation joincore.Relation
	extents  []*memory.Extent
	complete bool       // no participant feeds further rows; known only of sources of filters
	asking   *keptInput // PAGES of some leaves came; nil: of none, or of all
	asked    bool       // PAGES of all leaves came
	kept     *keptInput // nil: in the mode PLAIN
	dropped  bool       // kept was released
}

func newJob(opener *session, decoded *planjson.Job, open shm.Open) *job {
	j := &job{
		srv: opener.srv, pid: opener.group()[0], cluster: opener.hello.SystemIdentifier, database: opener.hello.Database,
		open: open, decoded: decoded, plan: decoded.Plan, inputs: decoded.Inputs,
		chains: map[uint64]chainExtent{}, past: map[int32]shm.ParticipantStats{}, fed: make([]input, len(decoded.Inputs)), started: time.Now(),
	}
	j.ctx, j.cancel = context.WithCancel(opener.srv.ctx)
	j.members.Store(&[]*session{opener})
	for i := range j.fed {
		columns := decoded.Plan.Inputs[i].Columns
		j.fed[i].relation.Columns, j.fed[i].shapes = columns, shapesOf(columns)
	}
	j.addFilters(decoded.Filters)
	for _, ref := range decoded.Plan.Output {
		j.outputs = append(j.outputs, shapeOf(decoded.Plan.Schema().Column(ref)))
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

func shapesOf(columns []joincore.Column) (shapes []shm.ColumnShape) {
	for _, c := range columns {
		shapes = append(shapes, shapeOf(c))
	}
	return shapes
}

// need estimates the memory of the whole job in bytes: the extents of the
// inputs, where each participant may leave one extent partly filled; a window
// of result batches; and the memory of the join. It fails if a result row
// cannot fit an extent.
func (j *job) need() (int64, error) {
	size := float64(j.srv.store.ExtentSize())
	if _, err := shm.PlanBatch(int(size), j.outputs, nil); err != nil {
		return 0, err
	}
	extents := float64(j.window())
	for i := range j.fed {
		extents += j.extents(i)
	}
	total := extents*size + float64(j.srv.executors.Estimate(j.plan))
	if total >= math.MaxInt64/2 {
		return math.MaxInt64 / 2, nil // more than any budget
	}
	return int64(total), nil
}

// extents estimates the extents that an input takes if all its rows are fed.
func (j *job) extents(input int) float64 {
	row := math.Max(leastBytes(j.fed[input].shapes), j.inputs[input].RowBytes)
	if mirrored(&j.inputs[input]) {
		return j.mirrorExtents(input, row)
	}
	full := math.Ceil(j.plan.Inputs[input].Rows * row / float64(j.srv.store.ExtentSize()-4096))
	return full + math.Min(full, float64(j.open.Participants-1)) + 1
}

// leastBytes returns the bytes of a row in columns of these shapes, with empty texts.
func leastBytes(shapes []shm.ColumnShape) float64 {
	row := 0.0
	for _, s := range shapes {
		row += float64(s.Width) + 0.125
		if s.Encoding == shm.EncVarlena {
			row += 4
		}
	}
	return row
}

// heldMargin is the window of a held result, as a multiple of the expected one.
const heldMargin = 4

// window returns the maximum number of result batches that may exist at a time. Each
// participant needs two, one that it reads and the next one, and the join one to fill while
// they read nothing. Beyond that the window grows with the expected result, up to the
// configured maximum. A held result must fit into it, though there may be more rows than
// expected.
func (j *job) window() int {
	most := j.srv.options.Window
	participants := int(j.open.Participants)
	least := max(2*participants+1, min(most, 2*participants+2))
	row := 0.0
	for _, s := range j.outputs {
		row += math.Max(float64(s.Width), 8)
	}
	expected := math.Ceil(j.expectedRows()*row/float64(j.srv.store.ExtentSize())) + 1
	if joincore.CanFailLate(j.plan.Root) {
		expected *= heldMargin
	}
	return int(math.Max(float64(least), math.Min(expected, float64(most))))
}

// handle processes a frame from a participant. It returns an error if the frame
// violates the protocol.
func (j *job) handle(p *participant, m shm.Message, body []byte) error {
	switch m {
	case shm.MsgWant:
		return decoded(body, func(v *shm.Want) error { return j.want(p, v) })
	case shm.MsgFilled:
		return decoded(body, func(v *shm.Filled) error { return j.filled(p, v) })
	case shm.MsgChainFilled:
		return decoded(body, func(v *shm.ChainFilled) error { return j.chainFilled(p, v) })
	case shm.MsgFed:
		return decoded(body, func(v *shm.Fed) error { return j.fedBy(p, v) })
	case shm.MsgInputFed:
		return decoded(body, func(v *shm.InputFed) error { return j.inputFed(p, v) })
	case shm.MsgFilterGet:
		return decoded(body, func(v *shm.FilterGet) error { return j.filterGet(p, v) })
	case shm.MsgFiltered:
		return decoded(body, func(v *shm.Filtered) error { return j.filtered(v) })
	case shm.MsgRun:
		return decoded(body, func(v *shm.Run) error { return j.run(p, v) })
	case shm.MsgNext:
		return decoded(body, func(v *shm.Next) error { return j.next(p, v) })
	case shm.MsgRelease:
		return decoded(body, func(v *shm.Release) error { return j.release(p, v) })
	case shm.MsgChainGet:
		return decoded(body, func(v *shm.ChainGet) error { return j.chainGet(p, v) })
	case shm.MsgKeptGet:
		return decoded(body, func(v *shm.KeptGet) error { return j.keptGet(p, v) })
	case shm.MsgBlocksGet:
		return decoded(body, func(v *shm.BlocksGet) error { return j.blocksGet(p, v) })
	case shm.MsgProved:
		return decoded(body, func(v *shm.Proved) error { return j.proved(p, v) })
	case shm.MsgCaptured:
		return j.captured(p, body)
	case shm.MsgReturned:
		return decoded(body, func(v *shm.Returned) error { return j.returned(p, v) })
	case shm.MsgStatsGet:
		p.out.send(j.report())
		return nil
	}
	return violation("%s is not allowed within a job", m)
}

func decoded[T shm.Struct](body []byte, act func(*T) error) error {
	v, err := shm.Decode[T](body)
	if err != nil {
		return violation("%v", err)
	}
	return act(&v)
}

// fail ends the job: it sends FAILED to every participant once, cancels the
// join, and frees all memory except extents that participants still map.
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

// abandon ends the job because a participant has left it. It counts the job as
// finished if all rows were delivered, else as cancelled.
func (j *job) abandon(f *failure) {
	switch {
	case j.failed != nil:
		return
	case j.exec != nil && j.exec.delivered():
		j.srv.counters.count(func(t *totals) { t.Finished++ })
	default:
		j.srv.counters.count(func(t *totals) { t.Cancelled++ })
	}
	j.end(f)
}

// end sends the reason to all participants and frees the job. The caller holds
// j.mu.
func (j *job) end(f *failure) {
	j.failed = f
	if e := j.exec; e != nil && e.announced {
		j.srv.phases.took(returnPhase, time.Since(e.returning))
	}
	j.cancel()
	for _, p := range j.participants {
		p.fail(f)
	}
	if j.exec != nil {
		j.exec.cancel()
		j.exec.dropReady()
	}
	if !j.releasing {
		j.releasing = true
		exec := j.exec
		j.srv.background.Go(func() { j.tearDown(exec) })
	}
}

// tearDown waits until the execution has ended, then frees the job's memory.
func (j *job) tearDown(exec *jobRun) {
	if exec != nil {
		<-exec.done
		exec.spooling.movers.Wait()
	}
	j.making.Wait()
	j.mu.Lock()
	if exec != nil {
		exec.dropReady()
	}
	j.freeInputs()
	j.freeChains()
	j.freeFilters()
	j.mu.Unlock()
	j.account.Close()
	j.srv.jobEnded(j)
}

// freeInputs releases the extents of the inputs. The caller holds j.mu and
// ensures that no join reads them.
func (j *job) freeInputs() {
	j.freed = true
	for i := range j.fed {
		for _, e := range j.fed[i].extents {
			e.Release()
		}
		j.fed[i].extents, j.fed[i].relation.Segments = nil, nil
	}
	j.freeKept()
	j.freeMirrors()
}

// present reports whether any participant is still connected. The budget calls
// it while it holds its own lock, so present takes no lock.
func (j *job) present() bool {
	return slices.ContainsFunc(*j.members.Load(), (*session).present)
}

// state returns the name of the job's state for STATUS.
func (j *job) state() string {
	switch {
	case j.failed != nil:
		return "failed"
	case j.exec == nil:
		return "feeding"
	case !j.exec.announced:
		return "running"
	case j.exec.delivered():
		return "done"
	}
	return "streaming"
}
