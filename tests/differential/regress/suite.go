package regress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gpujoin/tests/harness"
)

// suite is one of PostgreSQL's suites.
type suite struct {
	name     string
	program  string
	schedule string
	files    []string // of the suite's source that the program reads
	dir      string   // has copies of them, and the results below each mode
}

func suites(env *harness.Env) []*suite {
	return []*suite{
		{name: "regress", program: env.Prefix.Regress, schedule: "parallel_schedule",
			files: []string{"sql", "expected", "data", "parallel_schedule"}},
		{name: "isolation", program: env.Prefix.Isolation, schedule: "isolation_schedule",
			files: []string{"specs", "expected", "isolation_schedule"}},
	}
}

// mode is how a suite runs.
type mode struct {
	name     string
	settings harness.Settings
}

var (
	without = mode{"without", harness.Settings{"session_preload_libraries": "''"}}
	forced  = mode{"forced", harness.Settings{"gpujoin.debug_force": "on", "gpujoin.min_rows": "0", "gpujoin.enable_aggregates": "on", "gpujoin.keep": "always"}}
)

// results returns the directory with the results of a mode.
func (s *suite) results(m mode) string { return filepath.Join(s.dir, m.name, "results") }

// prepare copies the suite's files to where the server can read them, and builds
// the regression suite's library.
func (s *suite) prepare(source string) error {
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		return err
	}
	for _, what := range s.files {
		if out, err := exec.Command("cp", "-r", filepath.Join(source, what), s.dir).CombinedOutput(); err != nil {
			return fmt.Errorf("copying %s: %w: %s", what, err, out)
		}
	}
	library := filepath.Join(source, s.name+".c")
	if _, err := os.Stat(library); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	include, err := exec.Command(harness.PGConfig(), "--includedir-server").Output()
	if err != nil {
		return fmt.Errorf("pg_config: %w", err)
	}
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-O1", "-w", "-I"+strings.TrimSpace(string(include)),
		"-o", filepath.Join(s.dir, s.name+".so"), library).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s.so: %w: %s", s.name, err, out)
	}
	return nil
}

// database makes the suite's database, with the settings that it expects.
const database = `
	create database %[1]s template template0 encoding 'UTF8' locale 'C';
	alter database %[1]s set lc_messages to 'C';
	alter database %[1]s set lc_monetary to 'C';
	alter database %[1]s set lc_numeric to 'C';
	alter database %[1]s set lc_time to 'C';
	alter database %[1]s set bytea_output to 'hex';
	alter database %[1]s set timezone_abbreviations to 'Default'`

// totals are what the daemon has executed.
type totals struct {
	Joins  int64 `json:"joins"`
	Blocks int64 `json:"blocks"`
}

// runModes runs the suite in both modes at the same time, because its programs
// often wait, and returns what was executed when forced.
func (s *suite) runModes(env *harness.Env) (totals, error) {
	var native error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, native = s.run(env, without)
	}()
	done, err := s.run(env, forced)
	<-ended
	if native != nil {
		native = fmt.Errorf("%s: %w", without.name, native)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", forced.name, err)
	}
	return done, errors.Join(native, err)
}

// run runs the suite in a new server.
func (s *suite) run(env *harness.Env, m mode) (done totals, err error) {
	settings := harness.Settings{"timezone": "'PST8PDT'", "datestyle": "'Postgres, MDY'", "max_prepared_transactions": "2"}
	for name, value := range m.settings {
		settings[name] = value
	}
	pair, err := env.StartPair(settings, harness.DaemonOptions{"calibrate": "false", "extent-size": "1MB"})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, pair.Stop()) }()
	cluster := pair.Cluster
	ctx := context.Background()
	session, err := cluster.Connect(ctx)
	if err != nil {
		return done, err
	}
	defer session.Close()
	for sql := range strings.SplitSeq(fmt.Sprintf(database, s.name)+"; create extension gpujoin", ";") {
		if err := session.Exec(ctx, sql); err != nil {
			return done, err
		}
	}
	if err := s.runProgram(env, cluster, m); err != nil {
		return done, err
	}
	if strings.Contains(cluster.Server().Log(), "terminated by signal") {
		return done, fmt.Errorf("a server process crashed:\n%s", crash(cluster.Server().Log()))
	}
	if pair.Daemon.Exited() {
		return done, fmt.Errorf("the daemon ended:\n%s", pair.Daemon.LogTail(20))
	}
	status, err := session.One(ctx, "select status -> 'totals' from gpujoin.daemon_status()")
	if err != nil {
		return done, err
	}
	return done, json.Unmarshal([]byte(status), &done)
}

// crash returns the lines of the server's log around the first crash.
func crash(log string) string {
	lines := strings.Split(log, "\n")
	for i, line := range lines {
		if strings.Contains(line, "terminated by signal") {
			return strings.Join(lines[max(0, i-10):min(len(lines), i+5)], "\n")
		}
	}
	return ""
}

// runProgram runs pg_regress or pg_isolation_regress.
func (s *suite) runProgram(env *harness.Env, cluster *harness.Cluster, m mode) error {
	out := filepath.Join(s.dir, m.name)
	for _, path := range []string{out, filepath.Join(out, "results"), filepath.Join(out, "testtablespace")} {
		if err := env.Account.Mkdir(path); err != nil {
			return err
		}
	}
	cmd := env.Account.Command(out, s.program, "--use-existing", "--dbname="+s.name, "--user=postgres",
		"--host="+cluster.Sock, fmt.Sprintf("--port=%d", harness.Port), "--bindir="+env.Prefix.SystemBin,
		"--dlpath="+s.dir, "--inputdir="+s.dir, "--outputdir="+out, "--schedule="+filepath.Join(s.dir, s.schedule))
	cmd.Env = append(cmd.Env, "PGTZ=PST8PDT", "PGDATESTYLE=Postgres, MDY")
	// Tests fail because plans differ; only the comparison counts.
	text, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return fmt.Errorf("%s: %w", filepath.Base(s.program), err)
	}
	if !strings.Contains(string(text), " tests ") {
		return fmt.Errorf("%s did not finish:\n%s", filepath.Base(s.program), text)
	}
	return nil
}
