package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/sqltest"
)

// elsewhere are the commands of quickstart.md that make test itself runs or make deb-test tests.
var elsewhere = []string{"make setup", "make deb", "sudo apt install ./build/deb/*.deb", "sudo gpujoind check", "sudo apt purge gpujoind"}

// statement is one that a screen shows, with what psql printed.
type statement struct{ sql, output string }

var (
	fenced = regexp.MustCompile("(?ms)^```\n(.*?)^```$")
	shown  = regexp.MustCompile(`(?m)^shop=# `)
	timed  = regexp.MustCompile(`(?m)^Time: .*\n?`)
	// Lines of a plan that do not depend on the machine.
	certain = regexp.MustCompile(`(?m)^ *(?:->  )?((?:Input|Join|Group Key|Aggregates): .*|Custom Scan \(OffloadBlock\))$`)
)

// A reader who types what quickstart.md shows sees what it shows, but for times, costs and
// numbers of workers.
func TestQuickStart(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "quickstart.md"))
	if err != nil {
		t.Fatal(err)
	}
	// As a new server has it: VACUUM does not see rows of an unflushed commit as visible to all.
	pair, err := sqltest.Env.StartPair(harness.Settings{"session_preload_libraries": "''", "synchronous_commit": "on"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := pair.Stop(); err != nil {
			t.Error(err)
		}
	}()

	var report string
	ran := 0
	for _, block := range fenced.FindAllStringSubmatch(string(page), -1) {
		text := block[1]
		switch first, _, _ := strings.Cut(text, " "); {
		case first == "shop=#":
			list := statements(text)
			for i, got := range inPsql(t, pair, list) {
				list[i].compare(t, got)
			}
			if report == "" {
				report = list[len(list)-1].sql
			}
			if strings.Contains(text, "UPDATE") { // what the page says of the next plan
				fed := regexp.MustCompile("In its plan: `([^`]+)`").FindStringSubmatch(string(page))
				if len(fed) == 0 {
					t.Fatal("the page does not say what is fed after the update")
				}
				untilPlan(t, pair, report, fed[1])
			}
		case slices.Contains([]string{"createdb", "psql", "make", "sudo"}, first):
			inShell(t, pair, text)
		case strings.Contains(text, "Blocks: "): // the plan after some runs
			untilPlan(t, pair, report, regexp.MustCompile(`Blocks: .*`).FindAllString(text, -1)...)
		default: // a screen of what was tested above
			continue
		}
		ran++
	}
	if ran < 8 {
		t.Errorf("only %d blocks of the page were tested", ran)
	}
	left := inPsql(t, pair, []statement{{sql: "SELECT count(*) FROM pg_extension WHERE extname = 'gpujoin';"},
		{sql: "SELECT count(*) FROM pg_namespace WHERE nspname = 'gpujoin';"}, {sql: "SHOW session_preload_libraries;"}})
	if got := strings.Join(strings.Fields(strings.Join(left, " ")), " "); got != "count ------- 0 (1 row) count ------- 0 (1 row) session_preload_libraries --------------------------- (1 row)" {
		t.Errorf("after the last step: %s", got)
	}
}

// statements returns those of a screen.
func statements(screen string) (list []statement) {
	for _, part := range shown.Split(screen, -1)[1:] {
		end := strings.Index(part, "\n")
		if !strings.HasPrefix(part, `\`) {
			end = strings.Index(part, ";\n") + 1
		}
		list = append(list, statement{part[:end], timed.ReplaceAllString(part[end+1:], "")})
	}
	return list
}

// compare compares a statement's output with that on the page, as far as it is always the same.
func (s statement) compare(t *testing.T, got string) {
	t.Helper()
	if strings.HasPrefix(s.sql, "EXPLAIN") {
		for _, line := range certain.FindAllStringSubmatch(s.output, -1) {
			if !strings.Contains(got, line[1]) {
				t.Errorf("%s\nlacks %q:\n%s", s.sql, line[1], got)
			}
		}
		for _, line := range regexp.MustCompile(`(?m)^NOTICE: .*`).FindAllString(s.output, -1) {
			if !strings.Contains(got, line+"\n") {
				t.Errorf("%s\nlacks %q:\n%s", s.sql, line, got)
			}
		}
		return
	}
	if want := tidy(s.output); want != "" && tidy(got) != want {
		t.Errorf("%s\npage:\n%s\npsql:\n%s", s.sql, want, tidy(got))
	}
}

func tidy(output string) string {
	lines := strings.Split(output, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// run runs a shell's script as a user of the server would, and returns its output.
func run(t *testing.T, pair *harness.Pair, script string) string {
	t.Helper()
	env := pair.Cluster.Env
	cmd := env.Account.Command(pair.Cluster.Dir, "sh", "-euc", script)
	cmd.Env = append(cmd.Env, "PATH="+env.Prefix.SystemBin+":"+os.Getenv("PATH"), "PGHOST="+pair.Cluster.Sock,
		"PGPORT="+strconv.Itoa(harness.Port), "PGUSER=postgres", "PGDATABASE=postgres")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out.String())
	}
	return out.String()
}

// inShell runs the commands of a block, except those that are tested elsewhere.
func inShell(t *testing.T, pair *harness.Pair, block string) {
	t.Helper()
	var script []string
	for _, line := range strings.Split(block, "\n") {
		if strings.HasPrefix(line, "make ") || strings.HasPrefix(line, "sudo ") {
			if !slices.Contains(elsewhere, line) {
				t.Errorf("nothing tests the command %q", line)
			}
			continue
		}
		script = append(script, line)
	}
	run(t, pair, strings.ReplaceAll(strings.Join(script, "\n"), "psql ", "psql -X -v ON_ERROR_STOP=1 "))
}

// inPsql runs statements in one session, and returns the output of each.
func inPsql(t *testing.T, pair *harness.Pair, list []statement) []string {
	t.Helper()
	const mark = "-- next --"
	var script strings.Builder
	script.WriteString("psql -X -v ON_ERROR_STOP=1 -d shop <<'SQL' 2>&1\n")
	for _, s := range list {
		script.WriteString(s.sql + "\n\\echo " + mark + "\n")
	}
	script.WriteString("SQL\n")
	outputs := strings.Split(timed.ReplaceAllString(run(t, pair, script.String()), ""), mark+"\n")
	if len(outputs) != len(list)+1 {
		t.Fatalf("%d outputs of %d statements: %q", len(outputs)-1, len(list), outputs)
	}
	return outputs[:len(list)]
}

// blocks are the numbers in a line of a plan.
var blocks = regexp.MustCompile(`Blocks: (\d+) kept, (\d+) proved, (\d+) fed`)

// hasBlocks reports whether a plan has a line like this one. VACUUM leaves out a page that the
// background writer writes at that moment, and the daemon does not keep it: so some more may be fed.
func hasBlocks(t *testing.T, plan, line string) bool {
	t.Helper()
	const most = 8
	numbers := func(found []string) (n [3]int) {
		if found == nil {
			t.Fatalf("%q has no numbers of blocks", line)
		}
		for i := range n {
			n[i], _ = strconv.Atoi(found[1+i])
		}
		return n
	}
	want := numbers(blocks.FindStringSubmatch(line))
	return slices.ContainsFunc(blocks.FindAllStringSubmatch(plan, -1), func(found []string) bool {
		got := numbers(found)
		more := got[2] - want[2]
		return 0 <= more && more <= most && got[0] == want[0]-more && got[1] == want[1]
	})
}

// untilPlan repeats a query until its plan has all lines: columns are copied in the background.
func untilPlan(t *testing.T, pair *harness.Pair, sql string, lines ...string) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; {
		got := inPsql(t, pair, []statement{{sql: sql}, {sql: "EXPLAIN (ANALYZE, COSTS OFF) " + sql}})[1]
		missing := slices.IndexFunc(lines, func(line string) bool { return !hasBlocks(t, got, line) })
		if missing < 0 && !strings.Contains(got, "Fallback") {
			return
		}
		if time.Now().After(deadline) {
			kept := inPsql(t, pair, []statement{{sql: "SELECT * FROM gpujoin.kept;"}})[0]
			t.Fatalf("the plan lacks one of %q:\n%s\n%s", lines, got, kept)
		}
	}
}
