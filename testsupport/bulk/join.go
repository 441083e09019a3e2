package bulk

import (
	"context"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
)

// join is a join whose build side is being prepared asynchronously. Its results are row
// ids, so payload is never moved (UM).
type join struct {
	dev       *dev
	spec      *device.JoinSpec
	plan      *exec.Plan
	algorithm joincore.Algorithm
	build     *space
	counter   exec.Counter
	leftover  bool // Leftover was called

	stop  context.CancelFunc
	done  chan struct{}
	ready method // valid when done, unless err is set
	err   error
}

// defaultBits is the default number of radix bits.
const defaultBits = 4

func (d *dev) Prepare(ctx context.Context, spec *device.JoinSpec, build device.Space) (device.Prepared, error) {
	j := &join{
		dev: d, spec: spec, build: use(build), done: make(chan struct{}),
		plan:      &exec.Plan{Match: spec.Match, Leftover: spec.Leftover, Found: spec.Found},
		algorithm: byNumber(spec.Algorithm),
	}
	j.mustRead(j.build, spec.Build, spec.KeepBuild)
	j.build.users.Add(1)
	ctx, j.stop = context.WithCancel(ctx)
	go func() {
		defer close(j.done)
		j.ready, j.err = protected(ctx, j.prepare)
	}()
	return j, nil
}

func (j *join) bits() int {
	if j.spec.Bits > 0 {
		return j.spec.Bits
	}
	return defaultBits
}

// byNumber returns the UM variant that is executed for an algorithm.
func byNumber(a joincore.Algorithm) joincore.Algorithm {
	if a == 0 {
		return joincore.NPJ
	}
	return a.UM()
}

// reason says why the algorithm is not the one that was asked for.
func (j *join) reason() string {
	if j.spec.Algorithm == 0 || j.spec.Algorithm == j.algorithm {
		return ""
	}
	return "its result consists of row ids"
}

func (j *join) prepare(ctx context.Context) (method, error) {
	inner, err := j.build.await(ctx)
	if err != nil {
		return nil, err
	}
	if j.algorithm == joincore.NPJ {
		t, err := exec.BuildTable(ctx, j.dev.inner, j.plan, inner, &j.counter)
		if err != nil {
			return nil, err
		}
		return &unpartitioned{join: j, table: t, inside: inner}, nil
	}
	side := j.side(j.build, inner, j.spec.Build, j.spec.KeepBuild)
	t, err := exec.Transform(ctx, j.dev.inner, j.algorithm, j.plan, side, j.bits(), &j.counter)
	if err != nil {
		return nil, err
	}
	return &transformed{join: j, inside: t}, nil
}

// side returns what is moved of a side: the row ids of all inputs that are read.
func (j *join) side(s *space, inner device.Space, key *device.Key, keep device.Keep) exec.Side {
	inputs := inputsOf(keep)
	columns := joincore.Columns(j.spec.Residual)
	if !key.Exact { // candidate pairs with equal hashes must be verified
		columns = append(columns, columnsOf(key)...)
	}
	for _, c := range columns {
		if slices.Contains(s.inputs, c.Input) && !slices.Contains(inputs, c.Input) {
			inputs = append(inputs, c.Input)
		}
	}
	return exec.Side{Space: inner, Spec: device.TransformSpec{Key: key, RowIDs: inputs}}
}

// columnsOf returns the columns of a key.
func columnsOf(key *device.Key) []joincore.ColumnRef {
	var out []joincore.ColumnRef
	for _, p := range key.Parts {
		out = append(out, p.Column)
	}
	return out
}

// mustRead panics if a side does not hold what the join reads.
func (j *join) mustRead(s *space, key *device.Key, keep device.Keep) {
	s.mustKeep(keep)
	s.mustHold(columnsOf(key)...)
	for _, c := range joincore.Columns(j.spec.Residual) {
		if slices.Contains(s.inputs, c.Input) {
			s.mustHold(c)
		}
	}
}

// await returns the method once the build side is ready.
func (j *join) await(ctx context.Context) (method, error) {
	select {
	case <-j.done:
		return j.ready, j.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (j *join) Probe(ctx context.Context, probe device.Space, emit func(device.Space) error) error {
	s := use(probe)
	j.mustRead(s, j.spec.Probe, j.spec.KeepProbe)
	m, err := j.await(ctx)
	if err != nil {
		return err
	}
	inner, err := s.await(ctx)
	if err != nil {
		return err
	}
	s.users.Add(1)
	defer s.users.Add(-1)
	stage, release, err := m.probe(ctx, s, inner)
	if err != nil {
		return err
	}
	defer release()
	return j.emit(ctx, stage, emit)
}

func (j *join) Leftover(ctx context.Context, emit func(device.Space) error) error {
	if !j.spec.Leftover || j.leftover {
		panic("build rows asked for that the join does not return, or a second time")
	}
	j.leftover = true
	m, err := j.await(ctx)
	if err != nil {
		return err
	}
	space, err := m.space(ctx)
	if err != nil {
		return err
	}
	source := &exec.Leftover{Device: j.dev.inner, Space: space, Found: j.spec.Found}
	return j.emit(ctx, exec.Stage{Source: source}, emit)
}

func (j *join) Report() joincore.JoinStats {
	<-j.done
	stats := joincore.JoinStats{
		Algorithm: j.algorithm.String(), Reason: j.reason(), ProbeRows: j.counter.In.Load(), RowsOut: j.counter.Out.Load(),
		Time: j.counter.Time(j.dev.Streams()), Phases: j.counter.Phases(j.algorithm, j.dev.Streams()),
	}
	if j.algorithm == joincore.PHJUM {
		stats.Bits = j.bits()
	}
	if inner := j.build.inner; j.build.err == nil {
		for _, segment := range inner.Segments() {
			stats.BuildRows += int64(segment.Rows)
		}
	}
	return stats
}

func (j *join) Release() {
	j.stop()
	<-j.done
	if j.err == nil {
		j.ready.release()
	}
	j.build.users.Add(-1)
}
