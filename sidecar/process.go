package sidecar

import (
	"runtime"
	"runtime/metrics"

	"github.com/prometheus/procfs"
)

// ProcessStatus is what the system and Go's runtime say of the daemon's process. A worker for
// GPUs is another process.
type ProcessStatus struct {
	Goroutines int     `json:"goroutines"`
	Threads    int     `json:"threads"`
	HeapBytes  uint64  `json:"heap_bytes"`     // Go's heap, which has neither extents nor blocks
	Resident   uint64  `json:"resident_bytes"` // extents and blocks included
	Files      int     `json:"open_files"`
	MaxFiles   uint64  `json:"max_files"`
	CPUS       float64 `json:"cpu_s"`
	StartS     float64 `json:"start_s"` // since 1970
}

// processStatus leaves at zero what the system does not tell.
func processStatus() ProcessStatus {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	out := ProcessStatus{Goroutines: runtime.NumGoroutine(), HeapBytes: heap[0].Value.Uint64()}
	self, err := procfs.Self()
	if err != nil {
		return out
	}
	if stat, err := self.Stat(); err == nil {
		out.Threads, out.CPUS = stat.NumThreads, stat.CPUTime()
		out.Resident = uint64(max(0, stat.ResidentMemory()))
		if start, err := stat.StartTime(); err == nil {
			out.StartS = start
		}
	}
	if n, err := self.FileDescriptorsLen(); err == nil {
		out.Files = n
	}
	if limits, err := self.Limits(); err == nil {
		out.MaxFiles = limits.OpenFiles
	}
	return out
}
