package exec

import (
	"context"
	"errors"
	"fmt"
	"math"
	"syscall"
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

const (
	probeRows = 1 << 21 // of every measurement
	firstPHJ  = 3       // the first point where partitioning is tried
	lastNPJ   = 6       // the last where it is left out
	batchRows = 1 << 14

	moreColumns = 8 // that the measurement of a column adds

	groupShare = 0.3 // least share of the cores' time to measure aggregation
)

// Calibrate measures the rates of a provider by joining generated data, which
// takes about 2 seconds. costmodel.Points whose data does not fit into mem are
// extrapolated from the smaller ones. If the first point does not fit, the
// error wraps ErrBudget.
//
// share is the fraction of its cores' time that the process got during the
// measurement, 1 on an idle machine. The rates are corrected by it. Other
// processes also share caches and memory bandwidth, which is not corrected: a
// smaller share makes the rates less reliable, and if it is very small, those of
// aggregation are assumed.
func Calibrate(ctx context.Context, p device.Provider, mem joincore.Memory) (r costmodel.Rates, share float64, err error) {
	c := &calibration{ctx: ctx, provider: p, mem: joincore.NewAccount("calibration", mem)}
	defer c.mem.Close()
	var npj, phj [costmodel.Points]pair
	points := 0
	for i := range costmodel.Points {
		err := c.point(i, &npj[i], &phj[i])
		if errors.Is(err, joincore.ErrBudget) && i > 0 {
			break
		}
		if err != nil {
			return costmodel.Rates{}, 0, err
		}
		points++
	}
	fill(&r, &npj, &phj, points)
	if r.ColumnNS, err = c.column(); err != nil {
		return costmodel.Rates{}, 0, err
	}
	if r.Machine, err = machine(mem); err != nil {
		return costmodel.Rates{}, 0, err
	}
	// On a busy machine this would take many times as long and yield little.
	r.AssumeGroups()
	if c.share() >= groupShare {
		err = c.groupRates(&r)
	}
	return r, c.share(), err
}

// SpotPoint is the point that Spot measures. Calibrate measures it in the same
// way.
const SpotPoint = 2

// Spot measures costmodel.Rates.ProbeNS[SpotPoint] again, within some tens of ms. share
// is as for Calibrate.
func Spot(ctx context.Context, p device.Provider, mem joincore.Memory) (probeNS, share float64, err error) {
	c := &calibration{ctx: ctx, provider: p, mem: joincore.NewAccount("calibration", mem)}
	defer c.mem.Close()
	var npj, phj pair
	err = c.point(SpotPoint, &npj, &phj)
	return npj.probe, c.share(), err
}

// pair holds the rates of one algorithm at one point; 0: not measured.
type pair struct{ build, probe float64 }

// cost is what a join of n rows with probeRatio times as many costs.
func (p pair) cost() float64 {
	if p.probe == 0 {
		return math.Inf(1)
	}
	return p.build + probeRatio*p.probe
}

// probeRatio is the ratio of sides that decides between algorithms.
const probeRatio = 4

// fill takes the better algorithm of each point.
func fill(r *costmodel.Rates, npj, phj *[costmodel.Points]pair, points int) {
	for i := range points {
		better := npj[i]
		if phj[i].cost() < better.cost() {
			better = phj[i]
			if r.NPJRows == 0 {
				r.NPJRows = costmodel.PointRows(i) / 2 // between this point and the last
			}
		}
		r.BuildNS[i], r.ProbeNS[i] = better.build, better.probe
	}
	if r.NPJRows == 0 {
		r.NPJRows = costmodel.PointRows(points - 1)
	}
	for i := points; i < costmodel.Points; i++ {
		r.BuildNS[i] = r.BuildNS[points-1] * math.Pow(slower, float64(i-points+1))
		r.ProbeNS[i] = r.ProbeNS[points-1] * math.Pow(slower, float64(i-points+1))
	}
}

// slower is by how much a join is assumed to slow down from one point to the
// next where it was not measured.
const slower = 1.3

type calibration struct {
	ctx      context.Context
	provider device.Provider
	mem      *joincore.Account
	data     data

	had, asked time.Duration // of all cores' time, in all measurements
}

// share returns the part of its cores' time that the process got while it
// measured.
func (c *calibration) share() float64 {
	return shareOf(c.had, c.asked)
}

// point measures both algorithms at one build size, the better of two runs.
func (c *calibration) point(i int, npj, phj *pair) error {
	n := int(costmodel.PointRows(i))
	if err := c.data.prepare(c.mem, n); err != nil {
		return err
	}
	runs := 2
	if n > probeRows {
		runs = 1
	}
	for range runs {
		if i <= lastNPJ {
			m, err := c.measure(n, joincore.NPJ, costmodel.PairColumns)
			if err != nil {
				return err
			}
			npj.better(m)
		}
		if i >= firstPHJ {
			m, err := c.measure(n, joincore.PHJOM, costmodel.PairColumns)
			if err != nil {
				return err
			}
			phj.better(m)
		}
	}
	return nil
}

func (p *pair) better(m pair) {
	if m.cost() < p.cost() {
		*p = m
	}
}

// column measures one more output column, a probe side's and a build side's.
func (c *calibration) column() (float64, error) {
	const point = 2
	if err := c.data.prepare(c.mem, int(costmodel.PointRows(point))); err != nil {
		return 0, err
	}
	var narrow, wide pair
	for range 3 {
		for columns, best := range map[int]*pair{costmodel.PairColumns: &narrow, costmodel.PairColumns + moreColumns: &wide} {
			m, err := c.measure(int(costmodel.PointRows(point)), joincore.NPJ, columns)
			if err != nil {
				return 0, err
			}
			best.better(m)
		}
	}
	return max((wide.probe-narrow.probe)/moreColumns, minColumnNS), nil
}

// minColumnNS is a bound of what writing 8 bytes costs: measurements of a busy
// machine may say less.
const minColumnNS = 0.1

// measure joins the generated data once.
func (c *calibration) measure(n int, a joincore.Algorithm, columns int) (pair, error) {
	plan := &joincore.Plan{Root: &joincore.Join{
		Kind: joincore.Inner, Left: &joincore.Scan{Input: 0}, Right: &joincore.Scan{Input: 1},
		Keys: []joincore.KeyPair{{Left: joincore.ColumnRef{Input: 0}, Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
	}}
	for i := range columns {
		plan.Output = append(plan.Output, joincore.ColumnRef{Input: i % 2, Column: 1})
	}
	probe, build := c.data.relations(n)
	m, err := c.run(plan, costmodel.Decision{Algorithm: a}, probe, build)
	if err != nil {
		return pair{}, err
	}
	counter := &m.joins[0].counter
	built := counter.BuildPrepare + counter.Build.Each(m.dev.Streams())
	return pair{build: m.ns(built) / float64(n), probe: m.ns(m.took-built) / probeRows}, nil
}

// measured is an execution of a plan.
type measured struct {
	*chunked
	took  time.Duration
	share float64 // of its cores' time that the process got
}

// run executes a plan as queries are executed, into batches that are thrown away. how says
// how a join is executed.
func (c *calibration) run(p *joincore.Plan, how costmodel.Decision, inputs ...*joincore.Relation) (*measured, error) {
	for _, r := range inputs {
		p.Inputs = append(p.Inputs, joincore.Input{Columns: r.Columns})
	}
	plan, err := joincore.Check(p)
	if err != nil {
		return nil, err
	}
	opened, err := c.provider.Open(c.mem, device.Options{Inputs: deviceInputs(plan)})
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	d, ok := opened.(device.Chunked)
	if !ok {
		return nil, fmt.Errorf("calibrating %s: %w", c.provider.Name(), joincore.ErrUnsupported)
	}
	decide := func(int, costmodel.Decision) costmodel.Decision { return how }
	e := newChunked(newPlanState(c.ctx, plan, inputs, Options{Decide: decide}), d)
	if err := e.importInputs(d); err != nil {
		return nil, err
	}
	// Rates that are measured while other processes run must not make the machine look slow.
	start, used := time.Now(), processorTime()
	err = e.run(e.output(&scrap{columns: len(plan.Output)}))
	took := time.Since(start)
	had, asked := processorTime()-used, took*time.Duration(d.Streams())
	c.had, c.asked = c.had+had, c.asked+asked
	return &measured{e, took, max(shareOf(had, asked), minShare)}, err
}

// minShare bounds the correction for a busy machine: beyond it the rest was
// more likely waiting of our own.
const minShare = 0.1

// ns returns the time in ns of one core, of all that worked on an idle machine for some time.
func (m *measured) ns(took time.Duration) float64 {
	return float64(took.Nanoseconds()) * float64(m.dev.Streams()) * m.share
}

// shareOf returns the part of the time asked for that was had, at most 1.
func shareOf(had, asked time.Duration) float64 {
	if asked <= 0 {
		return 1
	}
	return min(1, float64(had)/float64(asked))
}

// processorTime returns what all threads of the process have used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const (
	groupedRows     = 1 << 18 // of a measurement with few groups
	manyGroups      = 1 << 12 // from here on, all probe rows are grouped, once
	groupedRunsFew  = 2
	groupedRunsMany = 1
)

// measuredFunctions is how many functions, operations or conditions the
// measurement of one of them adds.
const measuredFunctions = 4

// groupRates measures aggregation: of rows into groups, and what further
// functions, operations and conditions add. costmodel.Points whose data does not fit are
// extrapolated from the smaller ones.
func (c *calibration) groupRates(r *costmodel.Rates) error {
	for i := range costmodel.GroupPoints {
		ns, err := c.grouping(costmodel.GroupRows(i), []joincore.Function{sumOf(payload)}, nil)
		if errors.Is(err, joincore.ErrBudget) && i > 0 {
			ns, err = slower*r.GroupNS[i-1], nil
		}
		if err != nil {
			return err
		}
		r.GroupNS[i] = ns
	}
	few := costmodel.GroupRows(0)
	base := r.GroupNS[0]
	more := func(functions []joincore.Function, where joincore.Expr) (float64, error) {
		ns, err := c.grouping(few, functions, where)
		return max((ns-base)/measuredFunctions, minColumnNS), err
	}
	var err error
	if r.FunctionNS, err = more(manyFunctions(), nil); err != nil {
		return err
	}
	if r.OperationNS, err = more([]joincore.Function{sumOf(manyOperations())}, nil); err != nil {
		return err
	}
	r.ConditionNS, err = more([]joincore.Function{sumOf(payload)}, manyConditions())
	return err
}

var payload = joincore.ColumnRef{Column: 1}

func sumOf(v joincore.Value) joincore.Function {
	return joincore.Function{Kind: joincore.Sum, Arg: v}
}

// manyFunctions are a sum and measuredFunctions others.
func manyFunctions() []joincore.Function {
	return []joincore.Function{
		sumOf(payload),
		{Kind: joincore.Min, Arg: payload},
		{Kind: joincore.Max, Arg: payload},
		{Kind: joincore.Count, Arg: payload},
		sumOf(joincore.ColumnRef{}),
	}
}

// manyOperations is a value of measuredFunctions operations, each of which
// depends on the one before.
func manyOperations() joincore.Value {
	var v joincore.Value = payload
	for i := range measuredFunctions {
		v = &joincore.Arithmetic{Op: joincore.Add, Width: 8, Left: v, Right: joincore.Int(int64(i + 1))}
	}
	return v
}

// manyConditions is a conjunction of measuredFunctions conditions, which all
// rows meet.
func manyConditions() joincore.Expr {
	all := &joincore.And{}
	for i := range measuredFunctions {
		all.Args = append(all.Args, &joincore.Compare{Op: joincore.GreaterEqual, Left: payload, Right: joincore.Int(-int64(i))})
	}
	return all
}

// grouping groups probe rows by keys with the given number of distinct values, and
// returns the best time in ns per row of one core.
func (c *calibration) grouping(groups int64, functions []joincore.Function, where joincore.Expr) (float64, error) {
	if err := c.data.prepare(c.mem, int(groups)); err != nil {
		return 0, err
	}
	best, rows, runs := 0.0, groupedRows, groupedRunsFew
	if groups >= manyGroups {
		rows, runs = probeRows, groupedRunsMany
	}
	for range runs {
		ns, err := c.groupOnce(groups, rows, functions, where)
		if err != nil {
			return 0, err
		}
		if best == 0 || ns < best {
			best = ns
		}
	}
	return best, nil
}

func (c *calibration) groupOnce(groups int64, n int, functions []joincore.Function, where joincore.Expr) (float64, error) {
	node := &joincore.Aggregate{
		Child: &joincore.Scan{}, ID: 1, Keys: []joincore.Value{joincore.ColumnRef{}}, Functions: functions, Rows: float64(groups),
	}
	if where != nil {
		node.Child = &joincore.Filter{Child: node.Child, Predicate: where}
	}
	m, err := c.run(&joincore.Plan{Root: node}, costmodel.Decision{}, relation(c.data.probe, c.data.other, n))
	if err != nil {
		return 0, err
	}
	return m.ns(m.took) / float64(n), nil
}
