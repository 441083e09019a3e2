package exec

import (
	"cmp"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
)

// PredictCores returns the predicted time, in ms, of a plan's joins, filters and
// aggregates on the given number of cores, once its inputs are complete.
func PredictCores(plan *joincore.Checked, inputs []*joincore.Relation, r *costmodel.Rates, cores int) (ms float64) {
	p := newSized(plan, planned, func(input int) int64 { return inputs[input].Rows() }, nil)
	p.eachJoin(plan.Root, newColumns(plan.Output), func(_ *joincore.Join, build, probe *side) {
		ms += r.Predict(costmodel.CoreJoin{BuildRows: build.rows, ProbeRows: probe.rows}, cores).MS()
	})
	p.eachGrouping(plan.Root, func(g costmodel.Grouping) { ms += costmodel.PredictGroups(g, cores) })
	root := costmodel.CoreJoin{Result: p.rows[plan.Root], Columns: len(plan.Output)}
	return ms + r.Predict(root, cores).MS()
}

// deviceJobMS is the time of a device job in addition to joins and transfers of
// columns: its start in another process, its memory, and the first and the last
// transfer, which do not overlap with other work.
const deviceJobMS = 5

// PredictDevice returns the predicted time, in ms, of a plan on a device:
// uploading the columns that are read, the joins, filters and aggregates, and
// downloading the result. It assumes no overlap of transfers and other work. resident says
// which contents the device has; nil: none.
func PredictDevice(plan *joincore.Checked, inputs []*joincore.Relation, r *costmodel.DeviceRates, resident func(content uint64) bool) float64 {
	return PredictDevices(plan, inputs, Spread{Devices: 1, Resident: resident}, r)
}

// Spread says how several devices execute a plan together: they divide the rows of some
// inputs, and each reads all others whole.
type Spread struct {
	Devices int
	// Divided are the inputs: one, or the two of a join.
	Divided []int
	// How two divided inputs are joined: by costmodel.Exchange, Spread, Hybrid or Divide.
	How costmodel.Strategy
	// Held is how many bytes of two divided inputs stay on each device while they are partitioned
	// through the memory of the host, by costmodel.Divide.
	Held int64
	// Table is how many bytes each device has for its part of a build side and of the table, by costmodel.Hybrid.
	// Slots for which that is too little are on the host.
	Table int64
	// PeerGB is the rate, in GB/s, at which a device copies from others what they have
	// uploaded for all; 0: each device uploads all that it reads.
	PeerGB float64
	// ExchangeGB is the rate, in GB/s, at which a device sends rows to others while it receives as many, if
	// they exchange those of two inputs; 0: PeerGB.
	ExchangeGB float64
	// Resident tells whether devices have a content (joincore.Vector): its rows need not be
	// uploaded. nil: they have none.
	Resident func(content uint64) bool
	// Stays is how many bytes of contents stay on each device for later jobs.
	Stays int64
}

// Sampled is of about how many segments of an input, spread over all, devices are asked whether
// they have them.
const Sampled = 64

// uploads returns about the share of a column's rows that devices do not have; of contents, by
// weight.
func (s *Spread) uploads(r *joincore.Relation, column int, weight float64) float64 {
	if s.Resident == nil {
		return 1
	}
	rows, missing := 0, 0.0
	for i := 0; i < len(r.Segments); i += 1 + len(r.Segments)/Sampled {
		seg := &r.Segments[i]
		rows += seg.Rows
		switch {
		case column >= len(seg.Columns) || seg.Columns[column].Content == 0:
			missing += float64(seg.Rows)
		case !s.Resident(seg.Columns[column].Content):
			missing += weight * float64(seg.Rows)
		}
	}
	return missing / float64(max(rows, 1))
}

// hasContent reports whether a column, as far as it is kept, stays on devices.
func hasContent(r *joincore.Relation, column int) bool {
	return len(r.Segments) > 0 && column < len(r.Segments[0].Columns) && r.Segments[0].Columns[column].Content != 0
}

// deviceMS is the time that each further device of a job costs: its share of plans,
// threads and copies, and the wait for the last one.
const deviceMS = 0.5

// staying is the weight of an upload of contents that stay on a device: it is made once, for many
// jobs.
const staying = 0.02

// weight returns the weight of uploads of contents, of which a plan reads that many bytes a device.
func (s *Spread) weight(bytes float64) float64 {
	if bytes <= float64(s.Stays) {
		return staying
	}
	return 1
}

// readyMS is the time until a further device has begun, where it has nothing to upload meanwhile:
// on two H200, jobs over columns that both had took 1.7 to 6.4 ms longer than half the time of one.
const readyMS = 3

// groupBytes is the mean size of a value of a group.
const groupBytes = 16

// meetGB is the rate, in GB/s, at which the groups of several devices pass through fresh memory
// of the host to the one on which they meet: 15 M groups took 0.6 s on two H200.
const meetGB = 1

// PredictDevices returns the predicted time, in ms, of a plan on several devices.
func PredictDevices(plan *joincore.Checked, inputs []*joincore.Relation, s Spread, r *costmodel.DeviceRates) float64 {
	devices, all := float64(s.Devices), inputs
	if s.Devices > 1 {
		inputs = slices.Clone(inputs)
		for _, i := range s.Divided {
			inputs[i] = &joincore.Relation{Columns: inputs[i].Columns, Segments: []joincore.Segment{{Rows: int(inputs[i].Rows() / int64(s.Devices))}}}
		}
	}
	p := newSized(plan, s.rowsOf, func(input int) int64 { return inputs[input].Rows() }, nil)
	in, out, contents := 0.0, 0.0, 0.0
	read := p.read()
	ms := float64(deviceJobMS)
	hidden := struct {
		input   int
		ms, gap float64 // of the work, and of the input's way to the device
	}{input: -1}
	p.eachJoin(plan.Root, newColumns(plan.Output), func(n *joincore.Join, build, probe *side) {
		d := costmodel.Resident{KeyBytes: p.keyBytes(n), MatchRatio: 1, ResultRows: p.rows[n]}
		for i, s := range []*side{build, probe} {
			read.add(s.key.Columns()...)
			d.Rows[i], d.Payload[i] = s.rows, p.payload(s)
		}
		plain := n.Kind == joincore.Inner && len(n.Keys) == 1 && n.Residual == nil
		switch {
		case s.meets(n) && s.How.OneTable():
			entered, probed := s.spreadMS(&d, r)
			ms += entered
			if scan, ok := probe.node.(*joincore.Scan); ok { // windows are joined while others cross the link
				hidden.input, hidden.ms = scan.Input, probed
			} else {
				ms += probed
			}
		case s.meets(n) && s.How == costmodel.Divide:
			ms += divideWeight * r.Materialisation(d).MS
		case s.meets(n):
			ms += s.exchangeMS(&d, r)
		case plain:
			ms += r.Materialisation(d).MS
		default: // such joins use late materialisation
			ms += r.Named(&d, joincore.PHJUM).MS
		}
	})
	p.eachGrouping(plan.Root, func(g costmodel.Grouping) { ms += r.PredictGroups(g) })
	for c := range read {
		if c.Input < len(inputs) && hasContent(all[c.Input], c.Column) {
			contents += float64(inputs[c.Input].Rows()) * p.crossing(c)
		}
	}
	whole := s.whole(plan)
	for c := range read {
		if c.Input >= len(inputs) {
			continue // made on the device
		}
		bytes := float64(inputs[c.Input].Rows()) * p.crossing(c) * s.uploads(all[c.Input], c.Column, s.weight(contents))
		if whole[c] {
			bytes *= devices
		}
		if s.Devices > 1 && !slices.Contains(s.Divided, c.Input) && s.PeerGB > 0 {
			ms += bytes * (devices - 1) / devices / s.PeerGB / perMS
			bytes /= devices
		}
		in += bytes
		if c.Input == hidden.input {
			hidden.gap += bytes / r.LinkInGB / perMS
		}
	}
	ms += max(0, hidden.ms-hidden.gap)
	for _, c := range plan.Output {
		out += float64(p.rows[plan.Root]) * p.crossing(c)
	}
	if s.Devices > 1 { // the groups of all devices meet on one of them
		for _, a := range joincore.Aggregates(plan.Root) {
			bytes := devices * float64(p.rows[a]) * float64(groupBytes*(len(a.Keys)+len(a.Carry)+len(a.Functions)))
			ms += bytes / meetGB / perMS
		}
	}
	upload := in / r.LinkInGB / perMS
	if len(s.Divided) == 2 && s.How == costmodel.Divide {
		upload += s.throughMS(in, r)
	}
	if contents > 0 {
		upload = max(upload, (devices-1)*readyMS)
	}
	return ms + (devices-1)*deviceMS + upload + out/r.LinkOutGB/perMS
}

// perMS is how many bytes 1 GB/s moves in 1 ms.
const perMS = 1e6

// rowsOf returns the planner's estimate of a join on one of the devices: joins of a divided
// input have a part of their rows. Groups are made on each device and once more of all
// devices' groups.
func (s Spread) rowsOf(n *joincore.Join) float64 {
	if s.divides(n) {
		return n.Rows / float64(s.Devices)
	}
	return n.Rows
}

// divides reports whether a node has rows of a divided input.
func (s *Spread) divides(n joincore.Node) bool {
	return slices.ContainsFunc(s.Divided, func(input int) bool { return joincore.Scans(n, input) })
}

// meets reports whether devices join two divided inputs.
func (s *Spread) meets(n *joincore.Join) bool {
	able := s.Devices > 1 && (s.exchangeGB() > 0 || s.How == costmodel.Divide) || s.Devices == 1 && s.How == costmodel.Hybrid
	return able && s.divides(n.Left) && s.divides(n.Right)
}

// whole returns the columns that each device reads whole of inputs whose rows meet those on other
// devices: aggregates fetch them by row id.
func (s *Spread) whole(plan *joincore.Checked) columns {
	whole := columns{}
	if len(s.Divided) < 2 || s.How == costmodel.Divide {
		return whole
	}
	for _, a := range joincore.Aggregates(plan.Root) {
		for _, c := range a.Carry {
			if slices.Contains(s.Divided, c.Input) {
				whole.add(c)
			}
		}
	}
	return whole
}

// exchangeMS returns the ms of a device's part of a join whose rows are exchanged. d has its rows of both sides.
func (s *Spread) exchangeMS(d *costmodel.Resident, r *costmodel.DeviceRates) float64 {
	ms, _, _ := costmodel.Team{Devices: s.Devices, GBps: s.exchangeGB()}.Exchange(r, d.Matching()) // each payload can be sent without a shape
	return ms
}

// exchangeGB returns the rate at which a device sends rows to others.
func (s *Spread) exchangeGB() float64 { return cmp.Or(s.ExchangeGB, s.PeerGB) }

// peerReadBytes is how many bytes of the rate of copies a random read of another device's memory costs:
// an H200 reads 6.9 G values/s there, and copies 390 GB/s.
const peerReadBytes = 56

// spreadMS returns the ms of a device's part of a join with one table in the memory of all devices:
// to enter rows, and to probe with its own. d has its rows of both sides.
func (s *Spread) spreadMS(d *costmodel.Resident, r *costmodel.DeviceRates) (entered, probed float64) {
	table, others := *d, float64(s.Devices-1)
	table.TableBytes = entryBytes * d.Rows[0] * int64(s.Devices)
	p := r.PredictTable(&table)
	entered = p.Of(costmodel.PhaseBuild)
	probed = p.MS() - entered
	reads := float64(d.Rows[1]) + float64(d.ResultRows)*float64(len(d.Payload[0]))
	if d.KeyBytes > 4 {
		reads += float64(d.ResultRows)
	}
	if others > 0 {
		entered += float64(d.Rows[0]) * float64(d.KeyBytes) * others / s.PeerGB / perMS
		farther := max(0, peerReadBytes/s.PeerGB-1/r.FetchGps)
		probed += reads * others / float64(s.Devices) * farther / perMS
	}
	if hosted := s.hosted(d); hosted > 0 {
		entered += hosted * slotBytes * float64(d.Rows[0]) / r.LinkOutGB / perMS
		far := hostReadGps(hosted * slotBytes * float64(d.Rows[0]) * float64(s.Devices))
		probed += float64(d.Rows[1]) * (1/costmodel.HostedRate(1-hosted, r.FetchGps, far) - 1/r.FetchGps) / perMS
	}
	return entered, probed
}

// slotBytes and linkBytes are the least that a table takes for a row: its slots, which may be on the host, and its link.
const (
	slotBytes = 10
	linkBytes = 4
)

// hostReadGps returns how many slots on the host a device reads at random places, 1e9/s, if there are so many bytes
// of them: an H200 read 0.5 of 0.5 GB, and 0.05 of 2 GB (bench-multi -only spread). At such rates a
// table pays if a few per cent of it are on the host, and joins out of core beyond, so that only a setting chooses it.
func hostReadGps(bytes float64) float64 {
	if bytes <= 1<<29 {
		return 0.5
	}
	return 0.05
}

// hosted returns the share of a hybrid table's slots that the devices do not hold. d has a device's rows; the table leaves a quarter of
// the memory.
func (s *Spread) hosted(d *costmodel.Resident) float64 {
	if s.How != costmodel.Hybrid || s.Table == 0 || d.Rows[0] == 0 {
		return 0
	}
	width := d.KeyBytes
	for _, w := range d.Payload[0] {
		width += w
	}
	rows := float64(d.Rows[0])
	space := (float64(s.Table)-rows*float64(width))*3/4 - rows*linkBytes
	return min(1, max(0, 1-space/(rows*slotBytes)))
}

// entryBytes is what a table takes for a row while memory suffices.
const entryBytes = 16

// bothWays is the share of its rate that a link has in each direction if both are used, with the
// partitioning in between: two H200 partitioned 70 GB/s together, with links of 54 GB/s each.
const bothWays = 0.65

// throughMS returns the ms, besides one upload, that rows need that a device partitions through the
// memory of the host: these are uploaded twice, and downloaded meanwhile.
func (s *Spread) throughMS(in float64, r *costmodel.DeviceRates) float64 {
	return max(0, in-float64(s.Held)) / (bothWays * r.LinkInGB) / perMS
}

// divideWeight is by how much longer than predicted for a device alone a join takes that devices partition through the
// memory of the host, if what they have partitioned stays on them. Two H200 with links of 54 GB/s joined two inputs of 8, 16 and
// 24 GB each, of 16 bytes a row, in 191.6, 382.4 and 610.0 ms, and exchanged their rows in 174.8, 355.6 and 555.8 ms (divide and
// exchange of bench-multi's host-build, 53209d3e). The predictions for both are within 10 % of that.
const divideWeight = 2.5

// eachJoin visits the joins of a tree with their sides.
func (p *sized) eachJoin(n joincore.Node, needed columns, visit func(n *joincore.Join, build, probe *side)) {
	switch n := n.(type) {
	case *joincore.Filter:
		p.eachJoin(n.Child, needed.with(joincore.Columns(n.Predicate)...), visit)
	case *joincore.Join:
		build, probe := p.sidesOf(n, needed, p.buildLeft(n))
		visit(n, build, probe)
		p.eachJoin(build.node, build.withKey(), visit)
		p.eachJoin(probe.node, probe.withKey(), visit)
	case *joincore.Aggregate:
		p.eachJoin(n.Child, newColumns(joincore.AggregateColumns(n)), visit)
	}
}

// eachGrouping visits filters and aggregates. A filter right below an aggregate is one
// step with it.
func (p *sized) eachGrouping(n joincore.Node, visit func(costmodel.Grouping)) {
	switch n := n.(type) {
	case *joincore.Filter:
		child, where := unfiltered(n)
		visit(p.grouping(child, joincore.Columns(where)))
		p.eachGrouping(child, visit)
	case *joincore.Join:
		p.eachGrouping(n.Left, visit)
		p.eachGrouping(n.Right, visit)
	case *joincore.Aggregate:
		child, where := unfiltered(n.Child)
		g := p.grouping(child, append(joincore.AggregateColumns(n), joincore.Columns(where)...))
		g.Groups, g.Functions = p.rows[n], max(len(n.Functions), 1)
		visit(g)
		for i := range n.Functions {
			if n.Functions[i].Distinct { // values are groups, perhaps as many as rows
				values := g
				values.Groups, values.Functions = g.Rows, 1
				visit(values)
			}
		}
		p.eachGrouping(child, visit)
	}
}

// grouping describes expressions that read columns of the rows of a node.
func (p *sized) grouping(n joincore.Node, read []joincore.ColumnRef) costmodel.Grouping {
	g := costmodel.Grouping{Rows: p.rows[n], Operations: len(read)}
	for c := range newColumns(read) {
		g.Bytes += int64(p.crossing(c))
	}
	return g
}

// read returns the columns that the plan returns, and those that filters, residual
// conditions and aggregates read.
func (p *sized) read() columns {
	read := newColumns(p.plan.Output)
	for n := range joincore.Nodes(p.plan.Root) {
		switch n := n.(type) {
		case *joincore.Filter:
			read.add(joincore.Columns(n.Predicate)...)
		case *joincore.Join:
			read.add(joincore.Columns(n.Residual)...)
		case *joincore.Aggregate:
			read.add(joincore.AggregateColumns(n)...)
		}
	}
	return read
}

// keyBytes returns the width of the key that a device joins by: the column's
// own width or that of a hash.
func (p *sized) keyBytes(n *joincore.Join) int {
	if len(n.Keys) == 1 && p.schema.Column(n.Keys[0].Left).Width == 4 && p.schema.Column(n.Keys[0].Right).Width == 4 {
		return 4
	}
	return 8
}

// payload returns the widths of the values that a device moves for a side:
// narrow columns, and for each input with other columns a row id.
func (p *sized) payload(s *side) (widths []int) {
	carried, inputs := s.carried(func(c joincore.ColumnRef) bool { return p.schema.Column(c).Movable() })
	for _, c := range carried {
		widths = append(widths, p.schema.Column(c).Width)
	}
	for range inputs {
		widths = append(widths, 4)
	}
	return widths
}

// crossing returns how many bytes of a column's value are transferred. Values
// of variable length are not.
func (p *sized) crossing(c joincore.ColumnRef) float64 {
	if column := p.schema.Column(c); column.Kind == joincore.Fixed {
		return float64(column.Width)
	}
	return 0
}
