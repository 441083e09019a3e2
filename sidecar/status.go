package sidecar

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/config"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/memory"
	"gpujoin/sidecar/spool"
	"gpujoin/version"
)

// Status is the answer to STATUS_GET and STATUS_RESET, for people and monitoring.
type Status struct {
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
	Spool     spool.Usage       `json:"spool"`
	Queued    int               `json:"queued"`
	Pool      memory.StoreUsage `json:"pool"`
	Totals    totals            `json:"totals"` // since the start
	Sessions  int               `json:"sessions"`
	Jobs      []JobStatus       `json:"jobs"`
	Waiting   []JobStatus       `json:"waiting"` // that ask for memory and have no number yet
	Phases    []PhaseStatus     `json:"phases"`
	Process   ProcessStatus     `json:"process"`
	Settings  []config.Setting  `json:"settings"`
	// SinceReset has the totals and phases since the last reset.
	SinceReset sinceReset `json:"since_reset"`
	// Memory has the accounts of all memory, in the order of their tree.
	Memory []joincore.AccountUsage `json:"memory"`
	Kept   KeptStatus              `json:"kept"`
	// Mirrors has the mirrors of foreign servers.
	Mirrors MirrorStatus `json:"mirrors"`
}

// JobStatus is a job that has participants.
type JobStatus struct {
	ID           uint64  `json:"id"`
	State        string  `json:"state"`
	PID          int32   `json:"pid"`
	Cluster      uint64  `json:"system_identifier"` // of the cluster that has the database and the role
	Database     uint32  `json:"database"`
	Role         uint32  `json:"role"`
	Inputs       int     `json:"inputs"`
	Participants int     `json:"participants"`
	Rows         int64   `json:"rows"`          // fed so far
	Expected     float64 `json:"rows_expected"` // of all inputs, those that are kept included
	Bytes        int64   `json:"bytes"`
	RowsOut      int64   `json:"rows_out"` // of the result, made so far
	BytesOut     int64   `json:"bytes_out"`
	ExpectedOut  float64 `json:"rows_out_expected"`
	WaitsFor     string  `json:"waits_for,omitempty"` // memory, backend or client; "": it works
	Reserved     int64   `json:"reserved"`
	Used         int64   `json:"used"`
	Spooled      int64   `json:"spooled"` // bytes of results on disk
	AgeS         float64 `json:"age_s"`
	UnreadS      float64 `json:"unread_s,omitempty"` // since results were last read, while there are any
}

// Status returns the daemon's status.
func (srv *Server) Status() *Status {
	b, s, disk := srv.budget.Usage(), srv.store.Usage(), srv.spool.Usage()
	out := &Status{
		Version: version.Text, PID: os.Getpid(), UptimeS: time.Since(srv.started).Seconds(),
		Providers: srv.executors.Names(), Devices: srv.executors.Devices(), Links: srv.executors.Links(),
		Rates: srv.options.Rates.current.Load().source, Budget: b.Total, Reserved: b.Reserved,
		Used: s.Physical - s.KeptBlocks - s.Warm, Queued: b.Queued,
		Spooled: disk.Bytes, Spool: disk, Pool: s,
		Totals: srv.counters.now(), Jobs: []JobStatus{}, Waiting: srv.waitingJobs(),
		Phases: srv.phases.now(), Process: processStatus(), Settings: srv.settings().Settings,
		SinceReset: srv.sinceReset(),
		Memory:     srv.store.Report("daemon"), Kept: srv.keptStatus(), Mirrors: srv.mirrorStatus(),
	}
	srv.mu.Lock()
	out.Stopping, out.Sessions = srv.stopping, len(srv.sessions)
	srv.mu.Unlock()
	out.Memory = srv.keeper.Report("daemon/kept", out.Memory)
	out.Memory = srv.mirrors.keeper.Report("daemon/mirrors", out.Memory)
	for _, j := range srv.listJobs() {
		out.Jobs = append(out.Jobs, j.describe())
		out.Memory = j.account.Report(fmt.Sprintf("daemon/job %d", j.id), out.Memory)
	}
	return out
}

// statusFrame builds the STATUS message.
func statusFrame(srv *Server) []byte {
	text, err := json.Marshal(srv.Status())
	if err != nil || len(text) > shm.FrameMax {
		text = []byte(`{"error":"the report is too long"}`)
	}
	frame := append(shm.BeginFrame(nil, shm.MsgStatus, 0), text...)
	shm.FinishFrame(frame, 0)
	return frame
}

func (j *job) describe() JobStatus {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := JobStatus{
		ID: j.id, PID: j.pid, Cluster: j.cluster, Database: j.database, Role: j.open.Role, State: j.state(), Inputs: len(j.fed),
		Participants: len(j.participants), Rows: j.rowsIn, Expected: j.expectedFed(), Bytes: j.bytesIn, ExpectedOut: j.expectedRows(),
		Reserved: j.account.Limit(), Used: j.account.Used(), AgeS: time.Since(j.started).Seconds(),
	}
	if out.State == "feeding" {
		out.WaitsFor = "backend"
	}
	if e := j.exec; e != nil {
		out.RowsOut, out.BytesOut = e.rowsOut, e.bytesOut
		out.Spooled = e.spooling.bytes()
		if since, ok := e.unread(); ok {
			out.UnreadS, out.WaitsFor = time.Since(since).Seconds(), "client"
		}
	}
	return out
}

// expectedFed returns the planner's estimate of the rows of all inputs. Those that are kept are
// not fed.
func (j *job) expectedFed() float64 {
	rows := 0.0
	for i := range j.decoded.Plan.Inputs {
		rows += j.decoded.Plan.Inputs[i].Rows
	}
	return rows
}

// await lists a job among those that wait for memory, until done is called.
func (srv *Server) await(j *job) (done func()) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.waiting[j] = struct{}{}
	return func() {
		srv.mu.Lock()
		defer srv.mu.Unlock()
		delete(srv.waiting, j)
	}
}

// waitingJobs describes the jobs that wait for memory by what does not change of them.
func (srv *Server) waitingJobs() []JobStatus {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	out := []JobStatus{}
	for j := range srv.waiting {
		out = append(out, JobStatus{
			PID: j.pid, Cluster: j.cluster, Database: j.database, Role: j.open.Role, State: "queued", Inputs: len(j.inputs),
			WaitsFor: "memory", AgeS: time.Since(j.started).Seconds(),
		})
	}
	slices.SortFunc(out, func(a, b JobStatus) int { return cmp.Compare(b.AgeS, a.AgeS) })
	return out
}
