package source

import (
	"context"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"gpujoin/sidecar/mirror"
	"gpujoin/sidecar/source"
	"gpujoin/tests/harness"
)

// loadLineitem mirrors lineitem and returns its rows and the time. It reports how much of
// the time this process used a core.
func loadLineitem(b *testing.B, sock string) (int64, time.Duration) {
	server, target := newMirrors(b)
	s, err := source.Open(source.Options{Loaders: 2, Keywords: source.Keywords{"host": sock, "port": fmt.Sprint(harness.Port), "dbname": "postgres",
		"user": "postgres"}}, target, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	began, used := time.Now(), cpuTime(b)
	name := source.Name{Schema: "public", Table: "lineitem"}
	s.Mirror(name)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := s.Wait(ctx, name); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	status := server.Tables()
	if len(status) != 1 || status[0].State != mirror.StateReady || status[0].Rows != s.Status().Tables[0].Rows {
		b.Fatalf("%+v", status)
	}
	rows := status[0].Rows
	b.ReportMetric(float64((cpuTime(b)-used).Nanoseconds())/float64(rows), "cpu-ns/row")
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
