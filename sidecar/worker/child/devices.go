package child

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"gpujoin/sidecar/worker/control"
)

// queueTimeout is how long a job waits for a device. The jobs that hold the
// device may belong to idle cursors, while the daemon's cores are free.
const queueTimeout = 2 * time.Second

var errBusy = errors.New("all devices are busy with other joins")

// deviceQueue is the queue of one device.
type deviceQueue struct {
	Device
	slots chan struct{}

	mu           sync.Mutex
	jobs, queued int
	noted        string // last note that was logged
}

func newDeviceQueue(d Device) *deviceQueue {
	return &deviceQueue{Device: d, slots: make(chan struct{}, max(1, d.Jobs))}
}

// load returns the number of jobs that run or wait on the device.
func (q *deviceQueue) load() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.jobs + q.queued
}

func (q *deviceQueue) count(jobs, queued int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs += jobs
	q.queued += queued
}

// enter waits for the device in the order of the calls. It returns errBusy
// after queueTimeout.
func (q *deviceQueue) enter(ctx context.Context) error {
	q.count(0, 1)
	defer q.count(0, -1)
	select {
	case q.slots <- struct{}{}:
		q.count(1, 0)
		return nil
	case <-time.After(queueTimeout):
		return errBusy
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enterIdle takes a device on which no job runs or waits, if it is one.
func (q *deviceQueue) enterIdle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.jobs+q.queued > 0 {
		return false
	}
	select {
	case q.slots <- struct{}{}:
		q.jobs++
		return true
	default:
		return false
	}
}

func (q *deviceQueue) leave() {
	q.count(-1, 0)
	<-q.slots
}

func (q *deviceQueue) status() *control.Device {
	q.mu.Lock()
	defer q.mu.Unlock()
	d := &control.Device{
		Provider: q.Provider.Name(), Name: q.Name, Memory: q.Memory, Budget: q.Budget,
		Jobs: int32(q.jobs), Queued: int32(q.queued),
	}
	if q.Used != nil {
		d.Used = q.Used()
	}
	return d
}

// lacking is implemented by providers that may run without an optional feature.
type lacking interface {
	// Note returns the missing feature and the reason, or "".
	Note() string
}

// note returns the provider's note, and logs it when it changes.
func (q *deviceQueue) note(log *slog.Logger) string {
	p, ok := q.Provider.(lacking)
	if !ok {
		return ""
	}
	note := p.Note()
	q.mu.Lock()
	defer q.mu.Unlock()
	if note != q.noted && note != "" {
		log.Warn(note, "device", q.Name)
	}
	q.noted = note
	return note
}
