package foreign

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"gpujoin/tests/harness"
)

// A network passes everything on until it stalls; then connections stay open and silent.
func TestNetwork(t *testing.T) {
	env, err := harness.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	newer, err := SourceEnv(env.Root, "18")
	if err != nil {
		t.Fatal(err)
	}
	w, err := Start(env, Options{SourceEnv: newer, Network: true, Daemon: harness.DaemonOptions{"calibrate": "false"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	}()
	n, err := w.OpenNetwork()
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	k, err := n.Keywords()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dial := func(ctx context.Context) (*pgconn.PgConn, error) {
		return pgconn.Connect(ctx, fmt.Sprintf("host=%s port=%s dbname=%s user=postgres", k["host"], k["port"], k["dbname"]))
	}
	c, err := dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	version := func(ctx context.Context, c *pgconn.PgConn) error {
		r := c.ExecParams(ctx, "show server_version_num", nil, nil, nil, nil).Read()
		if r.Err == nil && string(r.Rows[0][0]) < "180000" {
			return fmt.Errorf("version %s", r.Rows[0][0])
		}
		return r.Err
	}
	if err := version(ctx, c); err != nil {
		t.Fatal(err)
	}
	if err := n.Slow(10, 10000); err != nil {
		t.Fatal(err)
	}
	if err := version(ctx, c); err != nil {
		t.Errorf("a slow network: %v", err)
	}
	n.Resume(ctx)
	if err := n.Stall(); err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	if err := version(short, c); err == nil || short.Err() == nil {
		t.Errorf("a stalled network answers: %v", err)
	}
	n.Resume(ctx)
	n.Cut()
	if _, err := dial(ctx); err == nil {
		t.Error("a cut network accepts a connection")
	}
	if err := n.Restore(); err != nil {
		t.Fatal(err)
	}
	again, err := dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := version(ctx, again); err != nil {
		t.Error(err)
	}
}
