package sidecar

import (
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/executor"
)

// statusJSON is the answer to STATUS_GET, for people and monitoring.
type statusJSON struct {
	Version   string            `json:"version"`
	PID       int               `json:"pid"`
	UptimeS   float64           `json:"uptime_s"`
	Stopping  bool              `json:"stopping"`
	Providers []string          `json:"providers"` // the first choice first
	Devices   []executor.Device `json:"devices"`
	Links     []executor.Link   `json:"links"` // between devices, and from and to the host
	Rates     RatesSource       `json:"rates"`
	Budget    int64             `json:"budget"`
	Reserved  int64             `json:"reserved"`
	Used      int64             `json:"used"`
	Spooled   int64             `json:"spooled"` // bytes of results on disk
	Spool     spoolJSON         `json:"spool"`
	Queued    int               `json:"queued"`
	Pool      poolJSON          `json:"pool"`
	Totals    totalsJSON        `json:"totals"`
	Sessions  int               `json:"sessions"`
	Jobs      []jobJSON         `json:"jobs"`
	// Memory has the accounts of all memory, in the order of their tree.
	Memory []joincore.AccountUsage `json:"memory"`
}

type poolJSON struct {
	ExtentSize int64 `json:"extent_size"`
	Extents    int   `json:"extents"`
	Free       int   `json:"free"`
	Warm       int64 `json:"warm"`        // bytes of free extents
	KeptBlocks int64 `json:"kept_blocks"` // bytes
}

type spoolJSON struct {
	Files   int   `json:"files"`
	Limit   int64 `json:"limit"`   // bytes
	Written int64 `json:"written"` // bytes since the start
}

type jobJSON struct {
	ID           uint64  `json:"id"`
	State        string  `json:"state"`
	PID          int32   `json:"pid"`
	Cluster      uint64  `json:"system_identifier"` // of the cluster that has the database and the role
	Database     uint32  `json:"database"`
	Role         uint32  `json:"role"`
	Inputs       int     `json:"inputs"`
	Participants int     `json:"participants"`
	Rows         int64   `json:"rows"`
	Bytes        int64   `json:"bytes"`
	Reserved     int64   `json:"reserved"`
	Used         int64   `json:"used"`
	Spooled      int64   `json:"spooled"` // bytes of results on disk
	AgeS         float64 `json:"age_s"`
	UnreadS      float64 `json:"unread_s,omitempty"` // since results were last read, while there are any
}

// statusFrame builds the STATUS message.
func statusFrame(srv *Server) []byte {
	b, s, disk := srv.budget.Usage(), srv.store.Usage(), srv.spool.Usage()
	out := statusJSON{
		Version: Version, PID: os.Getpid(), UptimeS: time.Since(srv.started).Seconds(),
		Providers: srv.executors.Names(), Devices: srv.executors.Devices(), Links: srv.executors.Links(),
		Rates: srv.options.Rates.current.Load().source, Budget: b.Total, Reserved: b.Reserved,
		Used: s.Physical - s.KeptBlocks - int64(s.Warm)*s.ExtentSize, Queued: b.Queued,
		Spooled: disk.Bytes, Spool: spoolJSON{disk.Files, srv.options.SpoolLimit, disk.Written},
		Pool:   poolJSON{s.ExtentSize, s.Extents, s.Warm, int64(s.Warm) * s.ExtentSize, s.KeptBlocks},
		Totals: srv.counters.totals(), Jobs: []jobJSON{},
		Memory: srv.store.Report("daemon"),
	}
	srv.mu.Lock()
	out.Stopping, out.Sessions = srv.stopping, len(srv.sessions)
	srv.mu.Unlock()
	for _, j := range srv.listJobs() {
		out.Jobs = append(out.Jobs, j.describe())
		out.Memory = j.account.Report(fmt.Sprintf("daemon/job %d", j.id), out.Memory)
	}
	text, err := json.Marshal(out)
	if err != nil || len(text) > shm.FrameMax {
		text = []byte(`{"error":"the report is too long"}`)
	}
	frame := append(shm.BeginFrame(nil, shm.MsgStatus, 0), text...)
	shm.FinishFrame(frame, 0)
	return frame
}

func (j *job) describe() jobJSON {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := jobJSON{
		ID: j.id, PID: j.pid, Cluster: j.cluster, Database: j.database, Role: j.open.Role, State: j.state(), Inputs: len(j.fed), Participants: len(j.participants), Rows: j.rowsIn,
		Bytes: j.bytesIn, Reserved: j.account.Limit(), Used: j.account.Used(), AgeS: time.Since(j.started).Seconds(),
	}
	if e := j.exec; e != nil {
		out.Spooled = e.spooling.bytes()
		if since, ok := e.unread(); ok {
			out.UnreadS = time.Since(since).Seconds()
		}
	}
	return out
}

// counters are totals since the start. Each request for a job is admitted or
// refused. Each admitted job that has ended has finished, was cancelled or has
// failed.
type counters struct {
	joins         atomic.Int64 // executed joins, rewinds included
	blocks        atomic.Int64 // executed aggregations of query blocks, rewinds included
	violations    atomic.Int64 // protocol violations
	rejectedPeers atomic.Int64 // connections refused because of the peer's user

	admitted  atomic.Int64
	finished  atomic.Int64 // all rows were delivered
	cancelled atomic.Int64 // a backend left before all rows were delivered
	failed    atomic.Int64
	refused   atomic.Int64
	fallbacks atomic.Int64 // refused, or failed before the first row: native plans
	reasons   [shm.FailResources + 1]atomic.Int64
}

// refuse counts a job that was not admitted.
func (c *counters) refuse(f *failure) {
	c.refused.Add(1)
	c.fallbacks.Add(1)
	c.because(f)
}

// fail counts an admitted job that failed. returning reports whether the
// backend had already received RUNNING.
func (c *counters) fail(f *failure, returning bool) {
	c.failed.Add(1)
	if !returning {
		c.fallbacks.Add(1)
	}
	c.because(f)
}

func (c *counters) because(f *failure) {
	if int(f.code) < len(c.reasons) {
		c.reasons[f.code].Add(1)
	}
}

// totalsJSON holds the counters in the answer to STATUS_GET.
type totalsJSON struct {
	Joins         int64            `json:"joins"`
	Blocks        int64            `json:"blocks"`
	Admitted      int64            `json:"admitted"`
	Finished      int64            `json:"finished"`
	Cancelled     int64            `json:"cancelled"`
	Failed        int64            `json:"failed"`
	Refused       int64            `json:"refused"`
	Fallbacks     int64            `json:"fallbacks"`
	Reasons       map[string]int64 `json:"reasons"` // of refused and failed, those that occurred
	Violations    int64            `json:"protocol_errors"`
	RejectedPeers int64            `json:"rejected_peers"`
}

func (c *counters) totals() totalsJSON {
	t := totalsJSON{
		Joins: c.joins.Load(), Blocks: c.blocks.Load(), Admitted: c.admitted.Load(), Finished: c.finished.Load(), Cancelled: c.cancelled.Load(),
		Failed: c.failed.Load(), Refused: c.refused.Load(), Fallbacks: c.fallbacks.Load(), Reasons: map[string]int64{},
		Violations: c.violations.Load(), RejectedPeers: c.rejectedPeers.Load(),
	}
	for code := range c.reasons {
		if n := c.reasons[code].Load(); n > 0 {
			t.Reasons[shm.Failure(code).String()] = n
		}
	}
	return t
}
