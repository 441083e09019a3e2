package sidecar

import (
	"time"

	"gpujoin/shm"
	"gpujoin/sidecar/kept"
)

// KeptStatus is what the daemon keeps between jobs.
type KeptStatus struct {
	Limit    int64       `json:"limit"`    // bytes
	Bytes    int64       `json:"bytes"`    // in use, the directory included
	Values   int64       `json:"values"`   // of these, values
	Pending  int         `json:"pending"`  // parts of tables that are captured and not copied yet
	Blocks   KeptBlocks  `json:"blocks"`   // of all jobs since the start
	Captured int64       `json:"captured"` // bytes since the start
	Evicted  int64       `json:"evicted"`  // bytes since the start
	Refused  int64       `json:"refused"`  // parts of columns for which there was no memory
	Tables   []KeptTable `json:"tables"`
	// Progress has the inputs of jobs that are captured now, or were captured and are copied.
	Progress []KeptProgress `json:"progress"`
}

// KeptBlocks counts heap blocks by how jobs got them.
type KeptBlocks struct {
	Kept   int64 `json:"kept"`   // proved by the visibility map alone
	Proved int64 `json:"proved"` // by the LSN of their page
	Fed    int64 `json:"fed"`
}

// KeptTable is what is kept of the present or of an earlier file of a table.
type KeptTable struct {
	Cluster    uint64       `json:"system_identifier"`
	Database   uint32       `json:"database"`
	Tablespace uint32       `json:"tablespace"`
	File       uint32       `json:"file"`
	Name       string       `json:"name"`
	Blocks     uint32       `json:"blocks"` // of the table, at its last use
	Bytes      int64        `json:"bytes"`
	Device     int64        `json:"device_bytes"` // of the memory of GPUs
	Uses       float64      `json:"uses"`         // recent ones weigh more
	IdleS      float64      `json:"idle_s"`       // since the last use
	Superseded bool         `json:"superseded"`
	LastKept   int64        `json:"last_kept"`   // blocks, at the last use that read the table to its end
	LastProved int64        `json:"last_proved"` // the same
	LastFed    int64        `json:"last_fed"`    // the same
	Reason     string       `json:"reason"`      // why what the last use fed was not captured
	Columns    []KeptColumn `json:"columns"`
}

// KeptProgress is how far the capture of one input has come.
type KeptProgress struct {
	Job        uint64 `json:"job"`
	PID        int32  `json:"pid"`
	Cluster    uint64 `json:"system_identifier"`
	Database   uint32 `json:"database"`
	Tablespace uint32 `json:"tablespace"`
	File       uint32 `json:"file"`
	Name       string `json:"name"`
	Phase      string `json:"phase"` // feeding or copying
	Blocks     int64  `json:"blocks_total"`
	Done       int64  `json:"blocks_done"`
}

// KeptColumn is what is kept of a column.
type KeptColumn struct {
	Attnum   int16   `json:"attnum"`
	Form     int     `json:"form"` // enum GjForm
	Rows     int64   `json:"rows"`
	Bytes    int64   `json:"bytes"`
	Device   int64   `json:"device_bytes"` // of the memory of GPUs
	Fraction float64 `json:"fraction"`     // of the table's blocks
	Uses     float64 `json:"uses"`
}

// keptStatus describes what is kept now.
func (srv *Server) keptStatus() KeptStatus {
	out := KeptStatus{Tables: []KeptTable{}, Progress: []KeptProgress{}}
	if srv.kept == nil {
		return out
	}
	c := srv.kept.Counters()
	out.Limit, out.Bytes, out.Values, out.Pending = srv.options.KeepMemory, c.Bytes, c.Values, c.Pending
	out.Blocks = KeptBlocks{c.Kept, c.Proved, c.Fed}
	out.Captured, out.Evicted, out.Refused = c.Captured, c.Evicted, c.Refused
	for _, t := range srv.kept.TablesOn(srv.executors.Resident()) {
		out.Tables = append(out.Tables, keptTable(&t))
	}
	for _, p := range srv.kept.Progress() {
		out.Progress = append(out.Progress, keptProgress(&p))
	}
	return out
}

func keptProgress(p *kept.Progress) KeptProgress {
	out := KeptProgress{
		Job: p.Job, PID: p.PID, Cluster: p.Table.System, Database: p.Table.Database, Tablespace: p.Table.Tablespace, File: p.Table.File,
		Name: p.Name, Phase: "feeding", Blocks: p.Blocks, Done: p.Done,
	}
	if p.Copying {
		out.Phase = "copying"
	}
	return out
}

func keptTable(t *kept.TableInfo) KeptTable {
	out := KeptTable{
		Cluster: t.Table.System, Database: t.Table.Database, Tablespace: t.Table.Tablespace, File: t.Table.File, Name: t.Name,
		Blocks: t.Blocks, Bytes: t.Bytes, Device: t.Device, Uses: t.Uses, IdleS: time.Since(t.LastUse).Seconds(), Superseded: t.Superseded,
		LastKept: t.Last.Kept, LastProved: t.Last.Proved, LastFed: t.Last.Fed, Reason: t.Last.Reason, Columns: []KeptColumn{},
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		out.Columns = append(out.Columns, KeptColumn{
			Attnum: c.Column.Attnum, Form: c.Column.Form, Rows: c.Rows, Bytes: c.Bytes, Device: c.Device, Fraction: t.Fraction(c), Uses: c.Uses,
		})
	}
	return out
}

// forget drops what is kept of a table (FORGET).
func (s *session) forget(body []byte) error {
	f, name, err := shm.DecodeForget(body)
	if err != nil {
		return violation("%v", err)
	}
	var out shm.Forgotten
	if s.srv.kept != nil {
		out.Bytes = uint64(s.srv.kept.Forget(func(t *kept.TableInfo) bool {
			return t.Table.System == s.hello.SystemIdentifier && t.Table.Database == s.hello.Database &&
				(t.Table.Tablespace == f.Tablespace && t.Table.File == f.File || t.Name == name)
		}))
	}
	s.out.send(shm.AppendFrame(nil, shm.MsgForgotten, 0, &out))
	return nil
}
