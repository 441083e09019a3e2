package arch

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// calls maps each file of the extension to the files whose functions or variables it
// uses.
type calls map[string]map[string]bool

// extensionCalls reads the symbols of the extension's object files, which make build
// leaves next to their sources.
func extensionCalls(t *testing.T, root string) calls {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(root, "fdw", "*.c"))
	if err != nil || len(sources) == 0 {
		t.Fatal("no C files", err)
	}
	definedIn, uses := map[string]string{}, map[string][]string{}
	for _, source := range sources {
		object := strings.TrimSuffix(source, ".c") + ".o"
		out, err := exec.Command("nm", object).Output()
		if err != nil {
			t.Fatalf("nm %s: %v; run make build", object, err)
		}
		name := strings.TrimSuffix(filepath.Base(source), ".c")
		for line := range strings.Lines(string(out)) {
			fields := strings.Fields(line)
			symbol, kind := fields[len(fields)-1], fields[len(fields)-2]
			switch {
			case kind == "U":
				uses[name] = append(uses[name], symbol)
			case strings.Contains("TDBRC", kind):
				definedIn[symbol] = name
			}
		}
	}
	all := calls{}
	for name, symbols := range uses {
		all[name] = map[string]bool{}
		for _, symbol := range symbols {
			if other := definedIn[symbol]; other != "" && other != name {
				all[name][other] = true
			}
		}
	}
	return all
}

// circle returns files that call each other in a circle, or nil.
func (c calls) circle() []string {
	done := map[string]bool{}
	var path, found []string
	var visit func(name string)
	visit = func(name string) {
		if i := slices.Index(path, name); i >= 0 && found == nil {
			found = append(slices.Clone(path[i:]), name)
		}
		if found != nil || done[name] {
			return
		}
		path = append(path, name)
		for _, other := range slices.Sorted(maps.Keys(c[name])) {
			visit(other)
		}
		path = path[:len(path)-1]
		done[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		visit(name)
	}
	return found
}

// fileGroups reads the table of the extension's files from ARCHITECTURE.md.
func fileGroups(t *testing.T, root string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "## Files of the extension")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no section on the extension's files")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	groups := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|[^|]*\\|([^|]*)\\|$").FindAllStringSubmatch(section, -1) {
		groups[m[1]] = list(m[2])
	}
	return groups
}

// groupOf returns a file's group: the file itself if it has a row, else the part of its
// name before the first underscore.
func groupOf(groups map[string][]string, file string) string {
	if _, ok := groups[file]; ok {
		return file
	}
	prefix, _, _ := strings.Cut(file, "_")
	if _, ok := groups[prefix]; ok {
		return prefix
	}
	return ""
}

func TestExtensionCallsDownwards(t *testing.T) {
	root, _ := load(t)
	groups, all := fileGroups(t, root), extensionCalls(t, root)
	seen := map[string]bool{}
	for file, others := range all {
		from := groupOf(groups, file)
		if seen[from] = true; from == "" {
			t.Errorf("fdw/%s.c is of no group in ARCHITECTURE.md", file)
		}
		for other := range others {
			if to := groupOf(groups, other); to != from && !slices.Contains(groups[from], to) {
				t.Errorf("fdw/%s.c calls fdw/%s.c, which the row of %s does not allow", file, other, from)
			}
		}
	}
	for group := range groups {
		if !seen[group] {
			t.Errorf("ARCHITECTURE.md has a row for files %s, of which there are none", group)
		}
	}
	if circle := all.circle(); circle != nil {
		t.Errorf("files call each other in a circle: %s", strings.Join(circle, " -> "))
	}
}

func TestCircleIsFound(t *testing.T) {
	c := calls{"a": {"b": true, "c": true}, "b": {"d": true}, "c": {"d": true}, "d": {}}
	if circle := c.circle(); circle != nil {
		t.Errorf("%v in %v", circle, c)
	}
	c["d"]["a"] = true
	if circle := c.circle(); len(circle) != 4 {
		t.Errorf("%v in %v", circle, c)
	}
}
