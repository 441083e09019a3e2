//go:build cuda

package cuda

import (
	"context"
	"fmt"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/fabric"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/cuda/mgj"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
	"gpujoin/joincore/mesh"
)

// team is what executions on several devices have in common that exchange rows at a join
// (MG-Join). Each brings the columns of its own rows. The last one to come has the devices of all
// exchange and join them; the result's rows stay on the device that has joined them.
//
// Meanwhile the kernels of each device write into the arenas of the others. No execution goes on
// before they have ended, also after an error, so none rewinds or gives back memory that another
// one still writes to.
//
// If one device does not access the memory of another one, rows are exchanged through the memory of the
// host, which the team takes for the time of the meeting.
type team struct {
	exchange *device.Exchange
	links    *teamLinks
	meeting  *device.Meeting[*brought, *outcome]
}

// attendance is an execution's place in a team.
type attendance struct {
	*team
	member int
}

// brought is what an execution brings to the meeting.
type brought struct {
	member  mgj.Member
	join    columnar.Join
	payload [2][]movedColumn // of the build and the probe side
	host    fabric.HostMemory
}

// outcome is what it gets there.
type outcome struct {
	out    *columnar.Output
	report *columnar.Report
	sent   int64 // bytes between devices; those of all are the first one's
}

// Meets implements multi's team.
func (p *Provider) Meets(members []device.Provider, x *device.Exchange) error {
	memory, err := checkSpreadMemory, error(nil)
	if x.Spread {
		err = checkConnected(members)
	} else {
		var ways *teamLinks
		if ways, err = linksOf(members); err == nil {
			memory = ways.checkMemory
		}
	}
	if x.Hosted {
		if why := p.platform.Unable(links.ZeroCopy); why != "" {
			return fmt.Errorf("no part of a table can be on the host: %s: %w", why, joincore.ErrUnsupported)
		}
		memory = func(x *device.Exchange, members int, memory int64) error {
			return checkHybridMemory(x, members, memory, max(p.outOfCore.Slabs.Limit, 0))
		}
	}
	if err != nil {
		return err
	}
	if err := checkNumbers(x); err != nil {
		return err
	}
	for _, m := range members {
		o := m.(*Provider)
		if o.rowIDsOnly {
			return fmt.Errorf("device %d joins by row ids only: %w", o.Info().Ordinal, joincore.ErrUnsupported)
		}
		if err := memory(x, len(members), o.budget/4*3); err != nil {
			return err
		}
	}
	return nil
}

// Team implements multi's team.
func (p *Provider) Team(members []device.Provider, x *device.Exchange) []any {
	if x.Spread {
		return newSpreading(len(members), x, p.placement())
	}
	t := &team{exchange: x}
	t.meeting = device.NewMeeting(len(members), t.work)
	var err error
	if t.links, err = linksOf(members); err != nil { // Meets has refused them
		t.meeting = device.NewMeeting(len(members), func(context.Context, []*brought) ([]*outcome, error) { return nil, err })
	}
	out := make([]any, len(members))
	for i := range out {
		out[i] = &attendance{t, i}
	}
	return out
}

// placement returns where units of hybrid tables lie for which devices have space.
func (p *Provider) placement() columnar.Placement {
	if p.place != nil {
		return p.place
	}
	return costmodel.Interleave
}

// UseMesh says how the devices of this machine are connected, and which of the mesh's GPUs this one
// is. Without it, a provider exchanges no rows with others. No execution may be running.
func (p *Provider) UseMesh(m *mesh.Mesh, gpu int) { p.mesh, p.number = m, gpu }

// work joins the rows of all members.
func (t *team) work(ctx context.Context, parts []*brought) ([]*outcome, error) {
	var members []mgj.Member
	var joins []columnar.Join
	var payload [2][][]movedColumn
	for _, p := range parts {
		members, joins = append(members, p.member), append(joins, p.join)
		for side := range payload {
			payload[side] = append(payload[side], p.payload[side])
		}
	}
	for _, p := range payload {
		if err := checkAlike(p); err != nil {
			return nil, err
		}
	}
	outputs, report, err := t.links.join(ctx, members, joins, t.exchange.Result, parts[0].host)
	if err != nil {
		return nil, err
	}
	out := make([]*outcome, len(parts))
	for i := range out {
		out[i] = &outcome{out: outputs[i], report: report.Members[i]}
	}
	out[0].sent = report.Bytes - report.Saved
	return out, nil
}

// meetingJoin is the join of a team, on one of its devices. Where it cannot be executed, the
// execution fails, and one device executes the plan alone.
type meetingJoin struct {
	*materialisedJoin
	at    *attendance
	probe *materialisedSide
}

// prepareMeeting gathers the build side's columns where they are not at hand.
func (e *execution) prepareMeeting(ctx context.Context, spec *device.JoinSpec, build *space, at *attendance) (*meetingJoin, error) {
	if reason := unfitForTeam(spec); reason != "" {
		return nil, fmt.Errorf("devices cannot exchange the rows of a join: %s: %w", reason, joincore.ErrUnsupported)
	}
	own := *spec
	own.KeepBuild, own.KeepProbe = travelling(at.exchange, spec.KeepBuild), travelling(at.exchange, spec.KeepProbe)
	m := &meetingJoin{at: at}
	var err error
	if m.materialisedJoin, err = e.prepareMaterialised(ctx, &own, build, m.meet); err != nil {
		return nil, err
	}
	if err = e.complete(at.exchange, m.side); err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}

// meets returns the join at which the execution meets others, and its number among them; nil: it meets
// none.
func (e *execution) meets() (x *device.Exchange, member int) {
	switch at := e.opt.Common.Team.(type) {
	case *attendance:
		return at.exchange, at.member
	case *spreadPlace:
		return at.exchange, at.member
	}
	return nil, 0
}

// numbered returns the view whose row ids the rows of a view take along, and the id of its first row: the
// view itself, unless other devices read them.
func (e *execution) numbered(v *view) (all *view, first int64) {
	if in := e.inputs[v.number]; in.all != in.own && in.all != v {
		return in.all, v.first()
	}
	return v, 0
}

// complete makes a side look like those of all devices: a column that may be NULL on one of them
// has a byte for each row that says whether it is.
func (e *execution) complete(x *device.Exchange, w *materialisedSide) error {
	if w == nil {
		return fmt.Errorf("a side of a join at which devices meet has no key: %w", joincore.ErrUnsupported)
	}
	columns, list := w.Payload, w.payload
	w.Payload, w.payload = nil, nil
	for i, p := range list {
		w.add(columns[i], p)
		if p.kind != rowid.PayloadValues || i+1 < len(list) && list[i+1].kind == rowid.PayloadValidity {
			continue
		}
		if !x.Nullable(x.Side(p.column.Input), p.column.Column) {
			continue
		}
		to, err := e.workspace.arena.Take(w.Rows)
		if err == nil && w.Rows > 0 {
			err = e.workspace.main.Stream().Memset(to, 1, w.Rows)
		}
		if err != nil {
			return err
		}
		w.add(columnar.Column{Addr: to, Bytes: 1}, payload{kind: rowid.PayloadValidity, column: p.column})
	}
	return nil
}

// Probe brings the rows of both sides to the meeting, and emits those of the result that this
// device has made there.
func (m *meetingJoin) Probe(ctx context.Context, probe device.Space, emit func(device.Space) error) error {
	e := m.e
	from, arena, start := e.space(probe), e.workspace.arena, time.Now()
	mark := arena.Mark()
	defer arena.Rewind(mark)
	m.crossing += e.crossing(from, m.spec.Match.Probe, nil, m.spec.KeepProbe)
	before := e.workspace.main.Cost()
	side, err := e.materialise(ctx, from, m.spec.Match.Probe, m.spec.KeepProbe)
	if err == nil {
		err = e.complete(m.at.exchange, side)
	}
	m.report.Work.Add(e.workspace.main.WorkSince(before))
	if err != nil {
		return err
	}
	m.probe = side
	out, err := m.join(ctx, side, start)
	if err != nil {
		return err
	}
	if m.report.Reason != "" {
		m.report.Reason = "devices that exchange rows join by partitions, with payload"
	}
	m.report.ProbeRows += from.rows
	m.report.RowsOut += out.Rows
	return m.emit(out, side, emit)
}

// meet is a columnar.Func: it returns this device's part of the result of all.
func (m *meetingJoin) meet(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
	sender, err := m.e.workspace.sends()
	if err != nil {
		return nil, nil, err
	}
	own := *j
	own.NoKey = j.NoKey && len(j.Build.Payload)+len(j.Probe.Payload) > 0 // the result has a column
	got, err := m.at.meeting.Join(ctx, m.at.member, &brought{
		member: mgj.Member{Device: d, Stream: s, Arena: a, Sender: sender}, join: own,
		payload: [2][]movedColumn{m.side.moved(), m.probe.moved()},
		host:    m.e.staging,
	})
	if err != nil {
		return nil, nil, err
	}
	m.e.workspace.copied.Add(got.sent)
	report := *got.report
	report.Algorithm = exchangedBy(report.Algorithm)
	return got.out, &report, nil
}

// Met returns how long the execution has waited for the others of its team.
func (e *execution) Met() time.Duration {
	switch at := e.opt.Common.Team.(type) {
	case *attendance:
		return at.meeting.Waited(at.member)
	case *spreadPlace:
		return at.meeting.Waited(at.member)
	}
	return 0
}

// moved describes the payload of a side.
func (w *materialisedSide) moved() (list []movedColumn) {
	for i, p := range w.payload {
		list = append(list, movedColumn{p.kind, p.column, w.Payload[i].Bytes})
	}
	return list
}

// sends returns what sends rows of the workspace to other devices. It is made on first use: its
// module takes longer to load than many joins.
func (s *workspace) sends() (_ *phj.Sender, err error) {
	if s.sender == nil {
		s.sender, err = phj.NewSender(s.gpu.context)
	}
	return s.sender, err
}
