package metrics

import (
	"strconv"
	"strings"

	"gpujoin/sidecar"
)

func memory(s *sink, d *sidecar.Status) {
	s.gauge("gpujoin_memory_budget_bytes", "Memory that all jobs and kept columns may use together.", float64(d.Budget))
	s.gauge("gpujoin_memory_reserved_bytes", "Memory that jobs and kept columns have reserved.", float64(d.Reserved))
	s.gauge("gpujoin_memory_used_bytes", "Memory of the budget that is in use.", float64(d.Used))
	for _, account := range d.Memory {
		// Those of jobs come and go, and would each be a series for ever.
		if strings.Count(account.Path, "/") <= 1 && !strings.HasPrefix(account.Path, "daemon/job ") {
			s.gauge("gpujoin_memory_account_bytes", "Memory of the daemon by account; daemon is all of it.", float64(account.Used), "account", account.Path)
		}
	}
	size := float64(d.Pool.ExtentSize)
	s.gauge("gpujoin_extents_bytes", "Memory of all extents, in use or free.", float64(d.Pool.Extents)*size)
	s.gauge("gpujoin_extents_free_bytes", "Memory of free extents.", float64(d.Pool.Free)*size)
	s.gauge("gpujoin_spool_bytes", "Unread results on disk.", float64(d.Spooled))
	s.gauge("gpujoin_spool_limit_bytes", "Maximum size of unread results on disk.", float64(d.Spool.Limit))
	s.gauge("gpujoin_spool_files", "Open files of unread results.", float64(d.Spool.Files))
	s.counter("gpujoin_spool_written_bytes_total", "Bytes of unread results that were written to disk.", d.Spool.Written)
}

func kept(s *sink, d *sidecar.Status) {
	k := &d.Kept
	s.gauge("gpujoin_kept_limit_bytes", "Maximum memory of kept columns.", float64(k.Limit))
	s.gauge("gpujoin_kept_bytes", "Memory of kept columns.", float64(k.Bytes))
	s.gauge("gpujoin_kept_tables", "Tables of which columns are kept, or would be with more memory.", float64(len(k.Tables)))
	s.counter("gpujoin_kept_captured_bytes_total", "Bytes of columns that were captured.", k.Captured)
	s.counter("gpujoin_kept_evicted_bytes_total", "Bytes of kept columns that were evicted.", k.Evicted)
	s.counter("gpujoin_kept_refused_total", "Parts of columns that were not kept for want of memory.", k.Refused)
	for _, pages := range []struct {
		source string
		n      int64
	}{{"kept", k.Blocks.Kept}, {"proved", k.Blocks.Proved}, {"fed", k.Blocks.Fed}} {
		s.counter("gpujoin_table_pages_total", "Pages of tables by where jobs got them from: kept columns, the same after a look at the page, or the table.", pages.n, "source", pages.source)
	}
}

func devices(s *sink, d *sidecar.Status) {
	for i := range d.Devices {
		device := &d.Devices[i]
		labels := []string{"provider", device.Provider, "device", strconv.Itoa(device.Number)}
		with := func(more ...string) []string { return append(labels[:len(labels):len(labels)], more...) }
		s.gauge("gpujoin_device_info", "The model of each device; the value is 1.", 1, with("model", device.Name)...)
		for _, state := range deviceStates {
			s.gauge("gpujoin_device_state", "Whether a device is in this state.", truth(device.State == state), with("state", state)...)
		}
		s.gauge("gpujoin_device_memory_bytes", "Memory of a device; 0 for cores, which use the machine's.", float64(device.Memory), labels...)
		s.gauge("gpujoin_device_memory_budget_bytes", "Memory of a device that joins may use.", float64(device.Budget), labels...)
		s.gauge("gpujoin_device_memory_used_bytes", "Memory of a device that joins use.", float64(device.Used), labels...)
		s.gauge("gpujoin_device_kept_bytes", "Kept columns in the memory of a device.", float64(device.Resident), labels...)
		s.gauge("gpujoin_device_jobs", "Joins that run on a device.", float64(device.Jobs), labels...)
		s.gauge("gpujoin_device_queued_jobs", "Joins that wait for a device.", float64(device.Queued), labels...)
		s.counter("gpujoin_device_restarts_total", "Restarts of the process that serves a device.", int64(device.Restarts), labels...)
	}
}

// process has the names that every Prometheus client uses.
func process(s *sink, d *sidecar.Status) {
	p := &d.Process
	s.gauge("go_goroutines", "Number of goroutines that currently exist.", float64(p.Goroutines))
	s.gauge("go_memstats_heap_alloc_bytes", "Bytes of objects on Go's heap.", float64(p.HeapBytes))
	s.gauge("process_threads", "Number of threads of the process.", float64(p.Threads))
	s.gauge("process_resident_memory_bytes", "Resident memory size in bytes.", float64(p.Resident))
	s.gauge("process_open_fds", "Number of open file descriptors.", float64(p.Files))
	s.gauge("process_max_fds", "Maximum number of open file descriptors.", float64(p.MaxFiles))
	s.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", p.StartS)
	s.seconds("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", p.CPUS)
}
