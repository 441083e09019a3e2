package exec

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

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
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if p.Turns == nil {
		p.Turns = device.Unlimited{}
	}
	n := p.workers()
	next := make([]atomic.Int64, len(p.Stages))
	barrier := newBarrier(n)
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			defer barrier.leave()
			if err := p.work(ctx, next, barrier); err != nil {
				stop(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

func (p *Pipeline) workers() int {
	tasks := 1
	for _, s := range p.Stages {
		tasks = max(tasks, s.Source.Tasks())
	}
	return min(tasks, p.Device.Streams())
}

func (p *Pipeline) work(ctx context.Context, next []atomic.Int64, b *barrier) (err error) {
	defer device.Recover(&err)
	device.PanicOnFault()
	st, err := p.Device.NewChunkStream()
	if err != nil {
		return err
	}
	defer st.Close()
	consumer := p.Consume(ctx, st)
	defer consumer.Close()
	for i := range p.Stages {
		if err := p.Stages[i].work(ctx, st, p.Turns, &next[i], consumer); err != nil {
			return err
		}
		if err := consumer.Finish(); err != nil {
			return err
		}
		b.arrive()
	}
	return nil
}

func (s *Stage) work(ctx context.Context, st device.ChunkStream, turns device.Turns, next *atomic.Int64, c Consumer) error {
	first := Push(c.Push)
	for i := len(s.Steps) - 1; i >= 0; i-- {
		first = s.Steps[i].Open(st, first)
	}
	push := func(r device.Rows, n int) error {
		turns.Yield(ctx)
		return first(r, n)
	}
	run := s.Source.Open(st)
	tasks := int64(s.Source.Tasks())
	turns.Enter(ctx)
	defer turns.Leave()
	for {
		task := next.Add(1) - 1
		if task >= tasks {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := run(ctx, int(task), push); err != nil {
			return err
		}
		turns.Yield(ctx)
	}
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
