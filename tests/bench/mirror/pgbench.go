package mirror

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/foreign"
	"gpujoin/tests/measure"
)

const (
	pgbenchScale   = 10
	pgbenchSeconds = 10
)

// pgbench measures what mirrors cost the source: its transactions a second with and without.
func (b *bench) pgbench() error {
	program := filepath.Join(b.env.Prefix.SystemBin, "pgbench")
	if err := exec.Command(program, "--version").Run(); err != nil {
		fmt.Println("  this server comes without pgbench")
		return nil
	}
	if _, err := b.pgbenchRun(program, "-i", "-q", "-s", strconv.Itoa(pgbenchScale)); err != nil {
		return err
	}
	tables := []string{"pgbench_accounts", "pgbench_branches", "pgbench_tellers"}
	if err := b.exec(b.local, "%s", foreign.ImportSQL(server, tables...)); err != nil {
		return err
	}
	var with, without, ratios []float64
	for range b.runs {
		alone, err := b.tps(program)
		if err != nil {
			return err
		}
		for _, t := range tables {
			if err := foreign.Mirror(b.ctx, b.local, "src."+t); err != nil {
				return err
			}
		}
		mirrored, err := b.tps(program)
		if err != nil {
			return err
		}
		// The mirrors have followed: the sums of the benchmark's tables agree.
		same, err := b.local.One(b.ctx, "select (select sum(abalance) from src.pgbench_accounts) = (select sum(bbalance) from src.pgbench_branches)")
		if err != nil {
			return err
		}
		if same != "t" {
			return fmt.Errorf("the sums of pgbench's tables differ")
		}
		for _, t := range tables {
			if err := b.exec(b.local, "select gpujoin.unmirror('src.%s')", t); err != nil {
				return err
			}
		}
		with, without, ratios = append(with, mirrored), append(without, alone), append(ratios, 100*mirrored/alone)
	}
	b.add("pgbench at the source", measure.Median(ratios), "% of its tps").Note =
		fmt.Sprintf("%.0f tps with mirrors, %.0f without", measure.Median(with), measure.Median(without))
	return nil
}

var tpsLine = regexp.MustCompile(`tps = ([\d.]+)`)

// tps runs the standard transaction with four clients.
func (b *bench) tps(program string) (float64, error) {
	if err := b.exec(b.source, "checkpoint"); err != nil {
		return 0, err
	}
	out, err := b.pgbenchRun(program, "-n", "-c", "4", "-j", "1", "-M", "prepared", "-T", strconv.Itoa(pgbenchSeconds))
	if err != nil {
		return 0, err
	}
	m := tpsLine.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("no tps in %s", out)
	}
	return strconv.ParseFloat(m[1], 64)
}

func (b *bench) pgbenchRun(program string, args ...string) (string, error) {
	args = append([]string{"-h", b.world.Source.Sock, "-p", strconv.Itoa(harness.Port), "-U", "postgres"}, args...)
	cmd := b.env.Account.Command(b.world.Source.Dir, program, append(args, "postgres")...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("pgbench: %w\n%s", err, out.String())
	}
	return out.String(), nil
}
