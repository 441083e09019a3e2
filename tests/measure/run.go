package measure

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"gpujoin/version"
)

// IdleLoad is the load average up to which a machine counts as idle.
const IdleLoad = 0.5

// Run is the document of a benchmark while it measures.
type Run struct {
	Document
	path string
}

// Flags are those of all benchmarks; the zero Flags wait for nothing.
type Flags struct{ idle *time.Duration }

// NewFlags defines the flags of all benchmarks.
func NewFlags(flags *flag.FlagSet) Flags {
	return Flags{flags.Duration("wait-idle", 0, fmt.Sprintf("first wait at most this long until the machine's load is below %g", IdleLoad))}
}

// Begin begins a measurement of the repository at root, whose results are written to a file.
// The load of the machine is that of now.
func (f Flags) Begin(ctx context.Context, root, suite, path string) (*Run, error) {
	hash, dirty := state(root)
	return f.begin(ctx, suite, path, hash, dirty)
}

// builtFrom is the commit that the program was built from; the build sets it.
var builtFrom = "unknown"

// BeginBuilt is Begin for the commit that this program was built from.
func (f Flags) BeginBuilt(ctx context.Context, suite, path string) (*Run, error) {
	return f.BeginOf(ctx, suite, path, builtFrom)
}

// BeginOf is Begin for a commit as git describes it.
func (f Flags) BeginOf(ctx context.Context, suite, path, described string) (*Run, error) {
	hash, dirty := strings.CutSuffix(described, "-dirty")
	return f.begin(ctx, suite, path, hash, dirty)
}

func (f Flags) begin(ctx context.Context, suite, path, hash string, dirty bool) (*Run, error) {
	if f.idle != nil {
		if err := waitIdle(ctx, *f.idle); err != nil {
			return nil, err
		}
	}
	return &Run{path: path, Document: Document{
		Schema: Schema, Suite: suite, Commit: hash, Dirty: dirty, Date: time.Now().UTC().Truncate(time.Second), Machine: ThisMachine(),
		Software: map[string]string{"gpujoin": version.Text}, Settings: map[string]string{}, Parameters: map[string]any{}, Results: []Result{},
	}}, nil
}

// waitIdle waits until the machine is idle, at most the given time.
func waitIdle(ctx context.Context, most time.Duration) error {
	deadline := time.Now().Add(most)
	for told := false; time.Now().Before(deadline); told = true {
		load, err := Load1()
		if err != nil || load < IdleLoad {
			return err
		}
		if !told {
			fmt.Printf("  waiting until the machine is idle; its load is %.2f\n", load)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return nil
}

// state returns the commit of a repository, and whether its files differ from it. Results and
// documents are left out: recording a result must not spoil the next one.
func state(root string) (hash string, dirty bool) {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-c", "safe.directory=*", "-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	hash, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown", true
	}
	changed, err := git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results", ":!docs", ":!*.md")
	return hash, err != nil || changed != ""
}

var number = regexp.MustCompile(`\d+(\.\d+)+|\d+[a-z]+\d+`)

// Server notes the version of the PostgreSQL server, of a text such as "PostgreSQL 15.20
// (Debian 15.20-0+deb12u1)", and its settings.
func (r *Run) Server(text string, settings map[string]string) {
	if found := number.FindString(text); found != "" {
		text = found
	}
	r.Software[Postgres] = text
	for name, value := range settings {
		r.Settings[name] = strings.Trim(value, "'")
	}
}

// Parameter notes a parameter of the benchmark: a number, a text, true or false.
func (r *Run) Parameter(name string, value any) {
	switch n := value.(type) {
	case int:
		value = float64(n)
	case int64:
		value = float64(n)
	}
	r.Parameters[name] = value
}

// Chosen notes a parameter that was given: a part of the work that is usually done, or more.
func (r *Run) Chosen(name, text string) {
	if text != "" {
		r.Parameter(name, text)
	}
}

// Save writes the results that there are so far, so that an interrupted run leaves what it
// has. Before the first one it writes nothing.
func (r *Run) Save(results []Result) error {
	r.Results = results
	if len(results) == 0 {
		return nil
	}
	return r.Write(r.path)
}

// Finish is Save for the results of a run that has ended.
func (r *Run) Finish(results []Result) error {
	r.Complete = true
	return r.Save(results)
}

// String describes where, when and of which commit the measurement is.
func (d *Document) String() string {
	text := fmt.Sprintf("%s; %s; commit %s", d.Machine, d.Date.Format("2006-01-02 15:04 UTC"), d.Commit)
	if d.Dirty {
		text += " with changes"
	}
	return text
}

// Circumstances describes the machine, the time and the commit of the repository at root, for
// programs that test and do not measure.
func Circumstances(root string) string {
	d := Document{Date: time.Now().UTC(), Machine: ThisMachine()}
	d.Commit, d.Dirty = state(root)
	return d.String()
}
