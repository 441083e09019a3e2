package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
	"gpujoin/tests/measure"
	"gpujoin/tests/tpch"
)

// foreignTables are all tables at the source; largest first, as they are loaded.
var foreignTables = []string{"lineitem", "orders", "fact4", "partsupp", "fact1", "dimension", "customer", "part", "supplier", "nation", "region"}

// localTables have the same rows here, in a schema of their own.
var localTables = []string{"dimension", "customer", "part", "supplier"}

// mirrorsResult is what a daemon has mirrored, when a stage begins.
type mirrorsResult struct {
	Stage   string
	Mode    string
	Seconds float64 // of the load, or until the changes had arrived
	Rows    int64
	Dead    int64 // deleted ones that still take memory
	Bytes   int64
	Device  int64
}

func (m *mirrorsResult) result() measure.Result {
	return measure.Result{Name: "mirrors of " + m.Mode + ", " + m.Stage, Texts: map[string]string{"stage": m.Stage}, Values: map[string]float64{
		"seconds": m.Seconds, "rows": float64(m.Rows), "dead_rows": float64(m.Dead), "bytes": float64(m.Bytes), "device_bytes": float64(m.Device)}}
}

// fillForeign makes the tables of the source, with their keys, and those of localTables here,
// and mirrors the former with both daemons.
func (r *foreignRun) fillForeign(ctx context.Context) error {
	native, here := r.modes[0].session, r.modes[1].session
	if err := native.Exec(ctx, tpch.Schema+`;
		create table dimension (k int8 not null, v int8 not null);
		create table fact1 (id int8 not null, k int8 not null, v int8 not null);
		create table fact4 (id int8 not null, k int8 not null, v int8 not null)`); err != nil {
		return err
	}
	if err := here.Exec(ctx, "create schema here; set search_path = here; "+tpch.Schema+`;
		drop table lineitem, orders, partsupp, nation, region;
		create table dimension (k int8 not null, v int8 not null)`); err != nil {
		return err
	}
	say("loading TPC-H at scale factor %g and %d rows with %d sessions", r.sf, 6*r.rows, loaders())
	work := append(r.generated(tpch.Tables...), r.dimension()...)
	for _, times := range []int{4, 1} {
		work = append(work, filled(fmt.Sprintf("fact%d", times), "i, "+r.factColumns(), times*r.rows, "")...)
	}
	keys := "alter table fact4 add primary key (id); alter table fact1 add primary key (id); alter table dimension add primary key (k); " + tpch.Indexes
	for _, step := range []struct {
		place
		work []string
	}{
		{r.atSource(), work},
		{r.atSource(), statements(keys)},
		{r.atSource(), vacuum(foreignTables)},
		{r.atHome(), append(r.generated(localTables...), r.dimension()...)},
		{r.atHome(), vacuum(localTables)},
	} {
		if err := step.parallel(ctx, step.work); err != nil {
			return err
		}
	}
	say("loaded after %.0f s; mirroring", time.Since(r.begin).Seconds())
	return r.mirrorAll(ctx)
}

func (r *foreignRun) atSource() place { return place{cluster: r.source} }

func (r *foreignRun) atHome() place {
	return place{cluster: r.cluster, first: "set search_path = here"}
}

// statements divides a text at its semicolons; the statements have none.
func statements(text string) (list []string) {
	for s := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(s) != "" {
			list = append(list, s)
		}
	}
	return list
}

// mirrorAll makes the foreign tables and their mirrors, one daemon's after the other's.
func (r *foreignRun) mirrorAll(ctx context.Context) error {
	options := map[string]string{
		"host": r.source.Sock, "port": fmt.Sprint(harness.Port), "dbname": "postgres",
		// changes of many rows at once arrive later than users would wait
		"freshness_timeout": "10min", "max_retained_wal": "60GB",
	}
	session := r.modes[1].session
	for _, sql := range []string{
		foreign.ServerSQL("src", options, map[string]string{"user": "postgres"}),
		foreign.ImportSQL("src", foreignTables...),
	} {
		if err := session.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	var names []string
	for _, t := range foreignTables {
		names = append(names, "src."+t)
	}
	for _, m := range r.modes[1:3] {
		begin := time.Now()
		if err := foreign.Mirror(ctx, m.session, names...); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		seconds := time.Since(begin).Seconds()
		if err := r.mirrored(ctx, loaded, m, seconds); err != nil {
			return err
		}
	}
	return session.Exec(ctx, "analyze "+strings.Join(names, ", "))
}

// mirrored records what a daemon has mirrored. All tables must have a mirror.
func (r *foreignRun) mirrored(ctx context.Context, stage string, m *mode, seconds float64) error {
	text, err := m.witness.Query(ctx, `select count(*) filter (where state in ('ready', 'behind')), coalesce(sum(rows), 0), coalesce(sum(dead_rows), 0),
		coalesce(sum(bytes), 0), coalesce(sum(device_bytes), 0) from gpujoin.mirrors`)
	if err != nil {
		return err
	}
	res, ready := &mirrorsResult{Stage: stage, Mode: m.name, Seconds: seconds}, 0
	if _, err := fmt.Sscan(text.Rows[0], &ready, &res.Rows, &res.Dead, &res.Bytes, &res.Device); err != nil {
		return err
	}
	if ready != len(foreignTables) {
		return fmt.Errorf("%s: %d of %d tables are mirrored", m.name, ready, len(foreignTables))
	}
	r.mirrors = append(r.mirrors, res)
	say("%3.0f s  %s: %s: %d rows in %.1f s, %d deleted ones, %d MB", time.Since(r.begin).Seconds(), m.name, stage, res.Rows, seconds, res.Dead, res.Bytes>>20)
	return nil
}

// stage is a state of the source's tables.
type stage struct {
	name string
	// changes are what is executed before, of each table in a transaction of its own.
	changes []change
	settled string // a condition that gpujoin.mirrors must meet
}

type change struct{ table, sql string }

// The names of the stages.
const (
	loaded    = "loaded"
	changed   = "changed"
	rewritten = "rewritten"
)

// refill empties a table and fills it again, in one transaction.
func refill(table string) string {
	return fmt.Sprintf("create temp table again as table %[1]s; truncate %[1]s; insert into %[1]s select * from again; drop table again", table)
}

// more adds copies of a table's rows, with other keys and higher prices: a query that sorts by
// prices and has a limit must not have to choose between a row and its copy.
func more(table, key, price, condition string) string {
	return fmt.Sprintf("create temp table more as select * from %[1]s where %[4]s; update more set %[2]s = %[2]s + 10000000000, %[3]s = %[3]s + 0.37; insert into %[1]s select * from more; drop table more",
		table, key, price, condition)
}

// stages returns all stages. The first changes leave bits of deleted rows in the mirrors;
// after the second ones, most rows of two tables are deleted, and mirrors are rewritten
// without them.
func (w *world) stages() []stage {
	return []stage{
		{loaded, nil, "true"},
		{changed, []change{
			{"fact4", "update fact4 set v = (v + 1) % 1000 where id % 50 = 1; delete from fact4 where id % 20 = 3"},
			{"fact1", "update fact1 set v = (v + 1) % 1000 where id % 25 = 1; delete from fact1 where id % 10 = 3; update fact1 set id = -id where id % 100 = 9; " +
				"insert into fact1 select id + 100000000000, k, (v + 5) % 1000 from fact1 where id % 20 = 7"},
			{"dimension", "update dimension set v = (v + 17) % 1000 where k % 20 = 0"},
			{"lineitem", "update lineitem set l_discount = 0.05, l_quantity = l_quantity + 1 where l_orderkey % 32 = 1; delete from lineitem where l_orderkey % 64 = 2; " +
				more("lineitem", "l_orderkey", "l_extendedprice", "l_orderkey % 64 = 3")},
			{"orders", "update orders set o_orderpriority = '1-URGENT', o_totalprice = o_totalprice + 1 where o_orderkey % 32 = 1; delete from orders where o_orderkey % 64 = 2; " +
				more("orders", "o_orderkey", "o_totalprice", "o_orderkey % 64 = 3")},
			{"partsupp", "update partsupp set ps_supplycost = ps_supplycost + 0.5 where ps_partkey % 10 = 0"},
			{"customer", "update customer set c_mktsegment = 'BUILDING', c_acctbal = c_acctbal + 1 where c_custkey % 16 = 1"},
			{"part", "update part set p_type = 'PROMO BURNISHED COPPER' where p_partkey % 20 = 1"},
			{"supplier", refill("supplier")},
			{"nation", refill("nation")},
		}, "bool_or(dead_rows > 0)"},
		{rewritten, []change{
			{"fact4", "delete from fact4 where id % 10 < 6"},
			{"fact1", "truncate fact1; insert into fact1 select i, " + w.factColumns() + fmt.Sprintf(" from generate_series(1::int8, %d) i", w.rows/2)},
			{"dimension", "delete from dimension where k % 3 = 0"},
			{"lineitem", "delete from lineitem where l_orderkey % 32 in (4, 5, 6, 7)"},
			{"orders", "delete from orders where o_orderkey % 32 in (4, 5, 6, 7)"},
			{"customer", refill("customer")},
		}, `bool_and(dead_rows < rows / 3) filter (where "table" in ('fact4', 'lineitem'))`},
	}
}

// prepareStage changes the source, and the local copies of its tables in the same way, and
// waits until both daemons have the changes.
func (r *foreignRun) prepareStage(ctx context.Context, s stage) error {
	var there, here []string
	for _, c := range s.changes {
		there = append(there, c.sql)
		if slices.Contains(localTables, c.table) {
			here = append(here, c.sql)
		}
	}
	if there == nil {
		return nil
	}
	say("%3.0f s  changing the source", time.Since(r.begin).Seconds())
	if err := r.atSource().parallel(ctx, there); err != nil {
		return err
	}
	begin := time.Now()
	if err := r.atHome().parallel(ctx, here); err != nil {
		return err
	}
	for _, work := range []struct {
		place
		tables []string
	}{{r.atHome(), localTables}, {r.atSource(), foreignTables}} {
		if err := work.parallel(ctx, vacuum(work.tables)); err != nil {
			return err
		}
	}
	for _, m := range r.modes[1:3] {
		// The newest rows are asked for.
		if err := m.session.Exec(ctx, "select count(*) from src.region"); err != nil {
			return err
		}
		seconds := time.Since(begin).Seconds()
		if err := settle(ctx, m.witness, s.settled); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if err := r.mirrored(ctx, s.name, m, seconds); err != nil {
			return err
		}
	}
	return nil
}

// rewriting is how long mirrors may take to be rewritten.
const rewriting = 2 * time.Minute

// settle waits until the mirrors meet a condition.
func settle(ctx context.Context, s *harness.Session, condition string) error {
	for deadline := time.Now().Add(rewriting); ; time.Sleep(100 * time.Millisecond) {
		met, err := s.One(ctx, "select "+condition+" from gpujoin.mirrors")
		if err != nil || met == "t" {
			return err
		}
		if time.Now().After(deadline) {
			r, err := s.Query(ctx, `select "table", state, rows, dead_rows from gpujoin.mirrors`)
			if err != nil {
				return err
			}
			return fmt.Errorf("the mirrors do not become %s: %q", condition, r.Rows)
		}
	}
}
