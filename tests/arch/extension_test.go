package arch

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layerOf returns a file's layer: its folder below fdw, or its own name in fdw itself.
func layerOf(file string) string {
	layer, _, _ := strings.Cut(file, "/")
	return layer
}

// extensionCalls maps each layer of the extension to the layers whose functions or
// variables it uses, with one of the files that do. It reads the symbols of the object
// files, which make build leaves next to their sources.
func extensionCalls(t *testing.T, root string) map[string]map[string]string {
	t.Helper()
	definedIn, uses := map[string]string{}, map[string][]string{}
	dir := filepath.Join(root, "fdw")
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		object, isC := strings.CutSuffix(path, ".c")
		if err != nil || !isC {
			return err
		}
		name, err := filepath.Rel(dir, object)
		if err != nil {
			return err
		}
		out, err := exec.Command("nm", object+".o").Output()
		if err != nil {
			t.Fatalf("nm %s.o: %v; run make build", object, err)
		}
		uses[name] = nil
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
		return nil
	})
	if err != nil || len(uses) == 0 {
		t.Fatal("no C files", err)
	}
	all := map[string]map[string]string{}
	for name, symbols := range uses {
		from := layerOf(name)
		if all[from] == nil {
			all[from] = map[string]string{}
		}
		for _, symbol := range symbols {
			if other := definedIn[symbol]; other != "" && layerOf(other) != from {
				all[from][layerOf(other)] = name + ".c calls " + symbol
			}
		}
	}
	return all
}

// extensionLayers returns the rows of the extension in the layer table: the layers in
// their order, and what each may call.
func extensionLayers(t *testing.T, root string) (order []string, may map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := Layers(string(text))
	if err != nil {
		t.Fatal(err)
	}
	name := func(row string) (string, bool) {
		row, ok := strings.CutPrefix(row, "fdw/")
		return strings.TrimSuffix(row, ".c"), ok
	}
	may = map[string][]string{}
	for _, row := range list {
		layer, ok := name(row.Name)
		if !ok {
			continue
		}
		order = append(order, layer)
		for _, below := range row.May {
			if below, ok := name(below); ok {
				may[layer] = append(may[layer], below)
			}
		}
	}
	return order, may
}

// Calls between folders go downwards in the table, and only where it allows them.
// Inside a folder files may call each other in any way.
func TestExtensionCallsDownwards(t *testing.T) {
	root, _ := load(t)
	order, may := extensionLayers(t, root)
	all := extensionCalls(t, root)
	for from, others := range all {
		if !slices.Contains(order, from) {
			t.Errorf("fdw/%s has no row in ARCHITECTURE.md", from)
		}
		for to, example := range others {
			if !slices.Contains(may[from], to) {
				t.Errorf("fdw/%s, which is in %s: the row of fdw/%s does not allow that", example, to, from)
			}
		}
	}
	for i, layer := range order {
		if all[layer] == nil {
			t.Errorf("ARCHITECTURE.md has a row for fdw/%s, which has no C file", layer)
		}
		for _, below := range may[layer] {
			if slices.Index(order, below) <= i {
				t.Errorf("fdw/%s may call %s, which is not below it in the table", layer, below)
			}
		}
	}
}

// shared are the headers in fdw itself that every file may include.
var shared = []string{"compat.h", "compat_heap.h", "options.h", "util.h"}

// A file includes only headers of its own folder, of folders below it, and shared ones.
func TestExtensionIncludesDownwards(t *testing.T) {
	root, _ := load(t)
	_, may := extensionLayers(t, root)
	dir := filepath.Join(root, "fdw")
	include := regexp.MustCompile(`(?m)^#include "([^"]+)"$`)
	seen := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".c" && filepath.Ext(path) != ".h" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		from := layerOf(strings.TrimSuffix(strings.TrimSuffix(name, ".c"), ".h"))
		for _, m := range include.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(dir, m[1])); err != nil || strings.HasPrefix(m[1], "../") || slices.Contains(shared, m[1]) {
				continue
			}
			seen++
			if to := layerOf(m[1]); to != from && !slices.Contains(may[from], to) {
				t.Errorf("fdw/%s includes %s, which the row of fdw/%s does not allow", name, m[1], from)
			}
		}
		return nil
	})
	if err != nil || seen == 0 {
		t.Fatal("no includes", err)
	}
}
