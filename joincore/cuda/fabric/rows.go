//go:build cuda

package fabric

import (
	"context"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/exchange/live"
	"gpujoin/joincore/multi"
)

func (f *Fabric) Rows(mem joincore.Memory, member int, bytes int64) (multi.Rows, error) {
	host, err := mem.Alloc(bytes)
	if err != nil {
		return nil, err
	}
	device, err := f.Alloc(member, bytes)
	if err != nil {
		mem.Free(host)
		return nil, err
	}
	return &rows{fabric: f, gpu: f.gpus[member], mem: mem, host: host, device: device.(*Memory)}, nil
}

// rows is memory of a GPU, and as much of the host. Copies pass through the driver's own
// buffers, because page-locking takes longer than copying once.
type rows struct {
	fabric *Fabric
	gpu    *gpu
	mem    joincore.Memory
	host   []byte
	device *Memory
}

func (r *rows) Buffer() live.Buffer { return r.device }
func (r *rows) Bytes() []byte       { return r.host }

func (r *rows) Upload(_ context.Context, offset, bytes int64) error {
	return r.queued(func(s *driver.Stream) error {
		return s.CopyIn(r.device.at+driver.Ptr(offset), r.host[offset:offset+bytes])
	})
}

func (r *rows) Download(_ context.Context, offset, bytes int64) error {
	return r.queued(func(s *driver.Stream) error {
		return s.CopyOut(r.host[offset:offset+bytes], r.device.at+driver.Ptr(offset))
	})
}

// queued calls f with the GPU's stream and waits for what it queues. The memory may be
// freed afterwards, so that no context ends the wait.
func (r *rows) queued(f func(*driver.Stream) error) error {
	r.gpu.mu.Lock()
	defer r.gpu.mu.Unlock()
	err := f(r.gpu.stream)
	if sync := r.gpu.stream.Sync(context.Background()); err == nil {
		err = sync
	}
	if err != nil {
		return fmt.Errorf("rows between host and GPU %d: %w", r.device.gpu, err)
	}
	return nil
}

func (r *rows) Free() {
	r.fabric.Free(r.device)
	r.mem.Free(r.host)
}
