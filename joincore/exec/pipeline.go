package exec

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Source produces chunks of rows in independent tasks.
type Source interface {
	Tasks() int
	// Open prepares a worker. The returned run executes one task and pushes its
	// non-empty chunks.
	Open(st device.ChunkStream) (run func(ctx context.Context, task int, push Push) error)
}

// Push passes on a chunk of n > 0 rows, which is valid during the call.
type Push func(r device.Rows, n int) error

// Step turns chunks into chunks.
type Step interface {
	Open(st device.ChunkStream, push Push) Push
}

// Consumer takes the chunks of one worker.
type Consumer interface {
	Push(r device.Rows, n int) error
	Finish() error // called after the last chunk of a stage that succeeded
	Close()        // always called, last
}

// Pipeline runs its stages one after the other.
type Pipeline struct {
	Device  device.Chunked
	Turns   device.Turns // nil: no limit
	Stages  []Stage
	Consume func(ctx context.Context, st device.ChunkStream) Consumer // called once per worker
}

// Stage is a source and the steps that process its chunks. All tasks of a stage
// finish before the next stage begins.
type Stage struct {
	Source Source
	Steps  []Step
}

// Run executes the pipeline, on no more of the device's streams than a stage has tasks.
func (p *Pipeline) Run(ctx context.Context) error {
	if p.Turns == nil {
		p.Turns = device.Unlimited{}
	}
	n := 1
	var tasks []*device.Tasks
	for _, s := range p.Stages {
		of := s.Source.Tasks()
		n = max(n, of)
		tasks = append(tasks, device.NewTasks(of))
	}
	n = min(n, p.Device.Streams())
	barrier := newBarrier(n)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	return device.Workers(ctx, n, func(ctx context.Context, _ int) error {
		defer barrier.leave() // when others see that they must not begin the next stage
		err := p.work(ctx, tasks, barrier)
		if err != nil {
			stop(err)
		}
		return err
	})
}

func (p *Pipeline) work(ctx context.Context, tasks []*device.Tasks, b *barrier) (err error) {
	defer device.Recover(&err)
	st, err := p.Device.NewChunkStream()
	if err != nil {
		return err
	}
	defer st.Close()
	consumer := p.Consume(ctx, st)
	defer consumer.Close()
	for i := range p.Stages {
		if err := p.Stages[i].work(ctx, st, p.Turns, tasks[i], consumer); err != nil {
			return err
		}
		if err := consumer.Finish(); err != nil {
			return err
		}
		b.arrive()
	}
	return nil
}

func (s *Stage) work(ctx context.Context, st device.ChunkStream, turns device.Turns, tasks *device.Tasks, c Consumer) error {
	first := Push(c.Push)
	for i := len(s.Steps) - 1; i >= 0; i-- {
		first = s.Steps[i].Open(st, first)
	}
	push := func(r device.Rows, n int) error {
		turns.Yield(ctx)
		return first(r, n)
	}
	run := s.Source.Open(st)
	for task := range tasks.Deal(ctx, turns) {
		if err := run(ctx, task, push); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// barrier lets workers wait for each other. A worker that fails leaves it.
type barrier struct {
	lock    sync.Mutex
	turn    chan struct{}
	workers int
	arrived int
}

func newBarrier(n int) *barrier { return &barrier{workers: n, turn: make(chan struct{})} }

func (b *barrier) arrive() {
	b.lock.Lock()
	b.arrived++
	turn := b.turn
	b.pass()
	b.lock.Unlock()
	<-turn
}

func (b *barrier) leave() {
	b.lock.Lock()
	b.workers--
	b.pass()
	b.lock.Unlock()
}

func (b *barrier) pass() {
	if b.arrived >= b.workers {
		close(b.turn)
		b.turn, b.arrived = make(chan struct{}), 0
	}
}

// Clock sums up the time of workers. It is safe for concurrent use.
type Clock struct{ ns atomic.Int64 }

// Add adds one worker's time.
func (c *Clock) Add(d time.Duration) { c.ns.Add(int64(d)) }

// Each returns the mean time of n concurrent workers.
func (c *Clock) Each(n int) time.Duration { return time.Duration(c.ns.Load() / int64(max(n, 1))) }

// Counter collects the statistics of one join.
type Counter struct {
	Clock Clock        // of workers: building in tasks, probing
	Build Clock        // of it: building
	In    atomic.Int64 // probe rows
	Out   atomic.Int64 // result rows
	// BuildPrepare and ProbePrepare are the elapsed times of preparing each
	// side with all cores: building one table or transforming a relation.
	BuildPrepare, ProbePrepare time.Duration
}

// Phases returns the time of each phase of a join by algorithm a on the given
// number of workers.
func (c *Counter) Phases(a joincore.Algorithm, workers int) []joincore.Phase {
	var out []joincore.Phase
	add := func(name string, took time.Duration) {
		out = append(out, joincore.Phase{Name: name, Actual: took})
	}
	switch a {
	case joincore.NPJ:
		add("build", c.BuildPrepare)
	case joincore.PHJUM, joincore.PHJOM:
		add("partition build side", c.BuildPrepare)
		add("partition probe side", c.ProbePrepare)
	case joincore.SMJUM, joincore.SMJOM:
		add("sort build side", c.BuildPrepare)
		add("sort probe side", c.ProbePrepare)
	}
	add("match", c.Clock.Each(workers))
	return out
}

// Time returns the total time of all phases.
func (c *Counter) Time(workers int) time.Duration {
	return c.BuildPrepare + c.ProbePrepare + c.Clock.Each(workers)
}

// timed adds what f takes to t.
func timed(t *time.Duration, f func() error) error {
	start := time.Now()
	err := f()
	*t += time.Since(start)
	return err
}
