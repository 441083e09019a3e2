package child

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"gpujoin/sidecar/worker/control"
)

// lanePatience is how long a job waits for a device. The jobs that hold the
// device may belong to idle cursors, while the daemon's cores are free.
const lanePatience = 2 * time.Second

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
func (l *deviceQueue) load() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.jobs + l.queued
}

func (l *deviceQueue) count(jobs, queued int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs += jobs
	l.queued += queued
}

// enter waits for the device in the order of the calls. It returns errBusy
// after lanePatience.
func (l *deviceQueue) enter(ctx context.Context) error {
	l.count(0, 1)
	defer l.count(0, -1)
	enough := time.NewTimer(lanePatience)
	defer enough.Stop()
	select {
	case l.slots <- struct{}{}:
		l.count(1, 0)
		return nil
	case <-enough.C:
		return errBusy
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enterIdle takes a device on which no job runs or waits, if it is one.
func (l *deviceQueue) enterIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jobs+l.queued > 0 {
		return false
	}
	select {
	case l.slots <- struct{}{}:
		l.jobs++
		return true
	default:
		return false
	}
}

func (l *deviceQueue) leave() {
	l.count(-1, 0)
	<-l.slots
}

func (l *deviceQueue) status() *control.Device {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &control.Device{
		Provider: l.Provider.Name(), Name: l.Name, Memory: l.Memory, Budget: l.Budget,
		Jobs: int32(l.jobs), Queued: int32(l.queued),
	}
	if l.Used != nil {
		d.Used = l.Used()
	}
	return d
}

// lacking is implemented by providers that may run without an optional feature.
type lacking interface {
	// Note returns the missing feature and the reason, or "".
	Note() string
}

// note returns the provider's note, and logs it when it changes.
func (l *deviceQueue) note(log *slog.Logger) string {
	p, ok := l.Provider.(lacking)
	if !ok {
		return ""
	}
	note := p.Note()
	l.mu.Lock()
	defer l.mu.Unlock()
	if note != l.noted && note != "" {
		log.Warn(note, "device", l.Name)
	}
	l.noted = note
	return note
}

// shortest returns the device with the lowest load.
func shortest(queues []*deviceQueue) *deviceQueue {
	best := queues[0]
	for _, l := range queues[1:] {
		if l.load() < best.load() {
			best = l
		}
	}
	return best
}
