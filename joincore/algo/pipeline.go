// Package algo holds the join algorithms, written once over the primitives of
// a device: the no-partitioning join, and the partitioned hash join and the
// sort-merge join with payloads gathered from untransformed (UM) or
// transformed relations (OM).
//
// All of them are parts of a Pipeline: a source of chunks, steps that filter
// or probe, and a consumer. A chunk runs through all steps before the next
// one is made, so that results stream and nothing between steps is stored.
package algo

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"gpujoin/joincore/device"
)

// Source makes chunks of rows, task by task; tasks are independent.
type Source interface {
	Tasks() int
	// Open prepares a worker's share; run then executes tasks and pushes
	// chunks that are not empty.
	Open(st device.ChunkStream) (run func(ctx context.Context, task int, push Push) error)
}

// Push hands over a chunk with n > 0 rows, valid during the call.
type Push func(r device.Rows, n int) error

// Step turns chunks into chunks.
type Step interface {
	Open(st device.ChunkStream, push Push) Push
}

// Consumer takes the chunks of one worker.
type Consumer interface {
	Push(r device.Rows, n int) error
	Finish() error // after the last chunk of a stage without error
	Close()        // in any case, last
}

// Pipeline executes sources one after the other, each through its steps.
type Pipeline struct {
	Device  device.Chunked
	Turns   device.Turns // nil: no limit
	Stages  []Stage
	Consume func(ctx context.Context, st device.ChunkStream) Consumer // a worker's
}

// Stage is a source and the steps that its chunks take. All tasks of a stage
// are done before the next one begins.
type Stage struct {
	Source Source
	Steps  []Step
}

// Run executes the pipeline on all streams of the device.
func (p *Pipeline) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if p.Turns == nil {
		p.Turns = device.Unlimited{}
	}
	n := p.Device.Streams()
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

// barrier lets workers wait for each other; those that fail leave it.
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

// Clock adds up time that workers spend on something.
type Clock struct{ ns atomic.Int64 }

// Add adds one worker's time.
func (c *Clock) Add(d time.Duration) { c.ns.Add(int64(d)) }

// Each returns the time of one of n workers that worked at once.
func (c *Clock) Each(n int) time.Duration { return time.Duration(c.ns.Load() / int64(max(n, 1))) }
