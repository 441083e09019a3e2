package source

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/source"
	"gpujoin/tests/harness"
	"gpujoin/tests/tpch"
)

// BenchmarkLoad loads lineitem of TPC-H at scale factor 1, all 16 columns, while the source
// shares the machine. The cluster is kept for the next run.
func BenchmarkLoad(b *testing.B) {
	ctx := context.Background()
	c, err := env.NewCluster("source-tpch", settings(nil))
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := c.Stop(); err != nil {
			b.Error(err)
		}
	}()
	s, err := c.Connect(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.One(ctx, "select count(*) from region"); err != nil {
		if err := tpch.Load(ctx, env, s, 1, func(step string) { b.Log(step) }); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		rows, took := loadLineitem(b, c)
		b.ReportMetric(float64(rows)/took.Seconds(), "rows/s")
	}
}

// loadLineitem mirrors lineitem and returns its rows and the time. It reports how much of
// the time this process used a core.
func loadLineitem(b *testing.B, c *harness.Cluster) (int64, time.Duration) {
	server, target := newMirrors(b)
	s, err := source.Open(source.Options{Loaders: 2, Keywords: source.Keywords{"host": c.Sock, "port": fmt.Sprint(harness.Port), "dbname": "postgres",
		"user": "postgres"}}, target, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	postmaster := c.Server().PID()
	began, used, theirs := time.Now(), cpuTime(b), childTime(b, postmaster)
	name := source.Name{Schema: "public", Table: "lineitem"}
	s.Mirror(name)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := s.Wait(ctx, name); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	status := server.Tables(nil)
	if len(status) != 1 || status[0].State != mirror.StateReady || status[0].Rows != s.Status().Tables[0].Rows {
		b.Fatalf("%+v", status)
	}
	rows := status[0].Rows
	b.ReportMetric(float64((cpuTime(b)-used).Nanoseconds())/float64(rows), "cpu-ns/row")
	s.Close() // its backends end
	time.Sleep(time.Second)
	b.ReportMetric(float64((childTime(b, postmaster)-theirs).Nanoseconds())/float64(rows), "source-cpu-ns/row")
	return rows, took
}

// cpuTime returns the processor time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// childTime returns the processor time of a process's children that have ended, in steps of
// 10 ms: a source's backends, when they are its postmaster's.
func childTime(b *testing.B, pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	// The name, in parentheses, may contain blanks.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	ticks := 0
	for _, f := range fields[13:15] { // cutime and cstime, proc(5)
		n, err := strconv.Atoi(f)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// BenchmarkStream writes rows in transactions of ten changes, and waits until all are in the
// mirror: the source's work for them is part of the time.
func BenchmarkStream(b *testing.B) {
	w := newWorld(b, shared, "create table t (id bigint primary key, a int, b numeric(12, 2), c text)")
	_, w.target = newMirrors(b)
	w.open(source.Options{})
	w.mirror("t")
	const changes = 300000
	for b.Loop() {
		began, used := time.Now(), cpuTime(b)
		w.exec("truncate t")
		w.exec(fmt.Sprintf(`do $$ begin
			for i in 1 .. %d loop
				insert into t select i * 10 + j, j, i / 3.0, 'some text' from generate_series(1, 5) j;
				update t set a = a + 1 where id between i * 10 + 1 and i * 10 + 5;
				commit;
			end loop; end $$`, changes/10))
		written := time.Since(began)
		w.barrier()
		b.ReportMetric(changes/time.Since(began).Seconds(), "changes/s")
		b.ReportMetric(time.Since(began).Seconds()-written.Seconds(), "behind-s")
		b.ReportMetric(float64((cpuTime(b)-used).Nanoseconds())/changes, "cpu-ns/change")
	}
}

// BenchmarkLatest is the wait that freshness adds to a query: of an idle source, and right
// after a commit.
func BenchmarkLatest(b *testing.B) {
	for _, commits := range []bool{false, true} {
		b.Run(fmt.Sprintf("commits=%v", commits), func(b *testing.B) {
			w := newWorld(b, shared, "create table t (id int primary key, v int); insert into t values (1, 0)")
			w.open(source.Options{})
			w.mirror("t")
			var waits []time.Duration
			for b.Loop() {
				if commits {
					w.exec("update t set v = v + 1")
				}
				began := time.Now()
				w.barrier()
				waits = append(waits, time.Since(began))
			}
			slices.Sort(waits)
			b.ReportMetric(float64(waits[len(waits)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds()), "p99-us")
		})
	}
}
