package mirror

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"gpujoin/tests/harness/foreign"
	"gpujoin/tests/measure"
	"gpujoin/tests/tpch"
)

// server is the name of the foreign server and of the schema of its tables.
const server = "src"

// prepare makes the source's data, unless an earlier run has, and the foreign server.
func (b *bench) prepare() error {
	want := fmt.Sprintf("lineitem of scale factor %g", b.sf)
	have, err := b.source.One(b.ctx, "select coalesce(max(obj_description(oid)), '') from pg_class where relname = 'lineitem'")
	if err != nil {
		return err
	}
	if have != want {
		if err := b.exec(b.source, "drop table if exists %s cascade", "region, nation, part, supplier, partsupp, customer, orders, lineitem"); err != nil {
			return err
		}
		if err := tpch.Load(b.ctx, b.env, b.source, b.sf, func(what string) { fmt.Println("  " + what) }); err != nil {
			return err
		}
		if err := b.exec(b.source, "comment on table lineitem is '%s'", want); err != nil {
			return err
		}
	}
	// What the last run has left; and the pages of lineitem in the source's memory.
	if err := b.exec(b.source, "drop table if exists lag_beat, lag_rows, changes, fixed, pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history; select count(l_comment) from lineitem"); err != nil {
		return err
	}
	if err := b.world.Import(b.ctx, b.local, server, "lineitem"); err != nil {
		return err
	}
	// Large transactions take longer than users would wait.
	return b.exec(b.local, "alter server %s options (add freshness_timeout '2min')", server)
}

// load mirrors lineitem, all 16 columns.
func (b *bench) load() error {
	var rates, sizes []float64
	for range b.runs {
		began := time.Now()
		if err := foreign.Mirror(b.ctx, b.local, server+".lineitem"); err != nil {
			return err
		}
		took := time.Since(began)
		rows, err := b.number(b.local, "select count(*) from src.lineitem")
		if err != nil {
			return err
		}
		there, err := b.number(b.source, "select count(*) from lineitem")
		if err != nil {
			return err
		}
		if rows != there {
			return fmt.Errorf("%.0f rows instead of %.0f", rows, there)
		}
		bytes, err := b.number(b.local, "select bytes from gpujoin.mirrors where \"table\" = 'lineitem'")
		if err != nil {
			return err
		}
		rates, sizes = append(rates, rows/took.Seconds()), append(sizes, bytes/rows)
		if err := b.exec(b.local, "select gpujoin.unmirror('src.lineitem')"); err != nil {
			return err
		}
	}
	b.add("load of lineitem", measure.Median(rates), "rows/s")
	b.add("lineitem here", measure.Median(sizes), "bytes/row")
	return nil
}

var perCore = regexp.MustCompile(`BenchmarkApply/(\w+)\S*\s.*?([\d.e+]+) changes/core-s`)

// apply runs the daemon's own code over a recorded stream of TPC-H's orders, from the bytes
// of its messages to published transactions.
func (b *bench) apply() error {
	cmd := exec.CommandContext(b.ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkApply$", "-count", strconv.Itoa(b.runs), "./sidecar/mirror")
	cmd.Dir = b.env.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	rates := map[string][]float64{}
	for _, m := range perCore.FindAllStringSubmatch(string(out), -1) {
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return err
		}
		rates[m[1]] = append(rates[m[1]], v)
	}
	if len(rates["insert"]) == 0 || len(rates["update"]) == 0 {
		return fmt.Errorf("no rates in %s", out)
	}
	b.add("recorded stream: inserts", measure.Median(rates["insert"]), "/s a core")
	b.add("recorded stream: updates", measure.Median(rates["update"]), "/s a core")
	return nil
}

const (
	memoryRows    = 1_000_000
	memoryColumns = 8
)

// memory compares the memory of a mirror with that of its columns, which are all fixed.
func (b *bench) memory() error {
	if err := b.exec(b.source, "create table fixed (id bigint primary key, b bigint not null, c bigint not null, d bigint not null, e bigint not null, f bigint not null, g bigint not null, h bigint not null); insert into fixed select i, i, i, i, i, i, i, i from generate_series(1, %d) i", memoryRows); err != nil {
		return err
	}
	if err := b.exec(b.local, "%s", foreign.ImportSQL(server, "fixed")); err != nil {
		return err
	}
	if err := foreign.Mirror(b.ctx, b.local, "src.fixed"); err != nil {
		return err
	}
	loaded, err := b.beside()
	if err != nil {
		return err
	}
	// A fifth of the rows gets new versions: fewer than those that make a segment be rewritten.
	if err := b.exec(b.source, "update fixed set b = -b where id %% 5 = 0"); err != nil {
		return err
	}
	if n, err := b.number(b.local, "select count(*) from src.fixed where b < 0"); err != nil || n != memoryRows/5 {
		return errors.Join(err, fmt.Errorf("%.0f changed rows", n))
	}
	changed, err := b.beside()
	if err != nil {
		return err
	}
	b.add("extents beside the columns, loaded", loaded, "bytes/row").Note = "without the index of keys: TestMemoryBesideTheColumns of sidecar/mirror has both, and the bar of 16"
	b.add("the same, a fifth updated", changed, "bytes/row").Note = "old versions of rows count as memory beside the columns"
	return b.exec(b.local, "select gpujoin.unmirror('src.fixed')")
}

func (b *bench) beside() (float64, error) {
	bytes, err := b.number(b.local, "select bytes from gpujoin.mirrors where \"table\" = 'fixed'")
	return bytes/memoryRows - 8*memoryColumns, err
}
