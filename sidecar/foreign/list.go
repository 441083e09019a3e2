package foreign

import (
	"cmp"
	"slices"

	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/source"
)

// Mirror describes the mirror of a table, for people.
type Mirror struct {
	Cluster  uint64 `json:"system_identifier"`
	Database uint32 `json:"database"`
	Server   uint32 `json:"server"`
	Mapping  uint32 `json:"mapping"`
	Schema   string `json:"schema"`
	Table    string `json:"table"`
	State    string `json:"state"`
	Reason   string `json:"reason"`
	Hint     string `json:"hint"`
	Rows     int64  `json:"rows"`
	Dead     int64  `json:"dead_rows"` // deleted ones that still take memory
	Bytes    int64  `json:"bytes"`
	Device   int64  `json:"device_bytes"`
	Position string `json:"position"`
	LagBytes int64  `json:"lag_bytes"`
	LagUS    int64  `json:"lag_us"`
	Retained int64  `json:"retained_wal"`
	Loaded   int64  `json:"loaded_rows"`     // by the current or the last load
	Total    int64  `json:"load_total_rows"` // as the source estimates; -1: unknown
	Since    string `json:"since"`           // it has its state; RFC 3339
}

// List describes all mirrors, ordered by server, mapping and name.
func (s *Sources) List() []Mirror {
	s.mu.Lock()
	var all []*entry
	for _, e := range s.sessions {
		e.users++
		all = append(all, e)
	}
	s.mu.Unlock()
	var device func(content uint64) int64
	if s.options.Resident != nil {
		device = s.options.Resident()
	}
	out := []Mirror{}
	for _, e := range all {
		out = append(out, e.list(device)...)
		s.leave(e)
	}
	slices.SortFunc(out, func(a, b Mirror) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Mapping, b.Mapping), cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Table, b.Table))
	})
	return out
}

// Bytes returns the memory of all mirrors.
func (s *Sources) Bytes() int64 { return s.servers.bytes() }

// listAnswer answers MIRRORS.
type listAnswer struct {
	Mirrors []Mirror `json:"mirrors"`
}

// list describes the mirrors of a database.
func (s *Sources) list(from Peer) listAnswer {
	return listAnswer{slices.DeleteFunc(s.List(), func(m Mirror) bool { return m.Cluster != from.Cluster || m.Database != from.Database })}
}

func (e *entry) list(device func(content uint64) int64) (out []Mirror) {
	status := e.session.Status()
	kept := map[source.Name]mirror.Status{}
	for _, t := range e.mirrors.Tables(device) {
		if name := (source.Name{Schema: t.Schema, Table: t.Name}); kept[name].State != mirror.StateReady {
			kept[name] = t
		}
	}
	for _, t := range status.Tables {
		m := Mirror{
			Cluster: e.cluster, Database: e.database, Server: e.server, Mapping: e.mapping, Schema: t.Name.Schema, Table: t.Name.Table, State: string(t.State),
			Position: formatLSN(status.Position), LagBytes: status.LagBytes, LagUS: status.Lag.Microseconds(), Retained: status.Retained,
			Loaded: t.Rows, Total: -1,
		}
		since := t.Since
		if planned := e.planned(t.Name); planned != nil {
			m.Total = int64(planned.Rows)
		}
		if k := kept[t.Name]; k.State == mirror.StateReady {
			m.Rows, m.Dead, m.Bytes, m.Device = k.Rows, k.Dead, k.Bytes, k.Device
		}
		switch {
		case status.State == source.StateConnecting, status.State == source.StateFailed:
			m.State, since = string(status.State), status.Since
			m.Reason, m.Hint = e.unready(t.Name)
		case t.State != source.StateReady:
			m.Reason, m.Hint = e.unready(t.Name)
		case status.State == source.StateBehind:
			m.State, since = string(source.StateBehind), status.Since
		}
		m.Since = since.UTC().Format("2006-01-02T15:04:05.000Z07:00")
		out = append(out, m)
	}
	return out
}
