package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

const module = "gpujoin"

// why has the reason for each rule; a rule without one is a mistake in the table.
var why = map[string]string{
	"cgo":        "the daemon is one static program that needs no C compiler or library where it runs, and a crash in C would take every session's join with it",
	"unsafe":     "plans, algorithms and choices work on checked views; raw memory is the business of shm and of a provider, where a few lines can be reviewed",
	"net":        "the join code must be usable, and testable, without a daemon around it",
	"threads":    "a backend is one thread: PostgreSQL's memory, errors and signals know no other",
	"algorithms": "the backend describes and feeds; how a join is executed is decided and done in joincore",
	"may import": "imports go downwards only, so that each layer can be understood, tested and replaced without those above it",
}

// goPackage is a package as go list describes it.
type goPackage struct {
	ImportPath string
	Name       string
	Standard   bool
	GoFiles    []string
	CgoFiles   []string
	CFiles     []string
	SFiles     []string
	Imports    []string
	Deps       []string
}

// builds are the build tags to check, one set each.
var builds = []string{"", "cuda"}

// goList lists all packages of a build with their dependencies. -e tolerates
// that device code has not been compiled for the package that embeds it.
func goList(t *testing.T, root, tags string) map[string]goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-deps", "-json", "-tags", tags, "./...")
	cmd.Dir = root
	// With cgo on, so that files with cgo are listed.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=-mod=mod", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	packages := map[string]goPackage{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
}

func ours(path string) (layer string, ok bool) {
	return strings.CutPrefix(path, module+"/")
}

func load(t *testing.T) (root string, layers map[string]Layer) {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := Layers(string(text))
	if err != nil {
		t.Fatal(err)
	}
	layers = map[string]Layer{}
	for _, r := range list {
		layers[r.Name] = r
	}
	return root, layers
}

func TestEveryPackageHasARow(t *testing.T) {
	root, layers := load(t)
	for _, tags := range builds {
		for path := range goList(t, root, tags) {
			if layer, ok := ours(path); ok && layers[layer].Name == "" {
				t.Errorf("%s has no row in ARCHITECTURE.md: %s", layer, why["may import"])
			}
		}
	}
}

func TestEveryRowExists(t *testing.T) {
	root, layers := load(t)
	for name, layer := range layers {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || !info.IsDir() && filepath.Ext(name) != ".c" {
			t.Errorf("ARCHITECTURE.md has a row for %s, which is no directory", name)
		}
		for _, rule := range layer.MustNot {
			if why[rule] == "" {
				t.Errorf("%s must not use %q: the rule has no reason, or no test", name, rule)
			}
		}
	}
}

func TestMayImport(t *testing.T) {
	root, layers := load(t)
	for _, tags := range builds {
		for path, p := range goList(t, root, tags) {
			layer, ok := ours(path)
			if !ok {
				continue
			}
			for _, imported := range p.Imports {
				below, ok := ours(imported)
				if ok && !slices.Contains(layers[layer].May, below) {
					t.Errorf("%s imports %s, which its row does not allow: %s", layer, below, why["may import"])
				}
			}
		}
	}
}

func TestMustNot(t *testing.T) {
	root, layers := load(t)
	for _, tags := range builds {
		packages := goList(t, root, tags)
		for path, p := range packages {
			layer, ok := ours(path)
			if !ok {
				continue
			}
			for _, rule := range layers[layer].MustNot {
				for _, dep := range append(p.Deps, path) {
					if breaks(packages[dep], dep, rule) {
						t.Errorf("%s must not use %s, but does through %s: %s", layer, rule, dep, why[rule])
					}
				}
			}
		}
	}
}

// No main imports test support.
func TestMainsImportNoTestSupport(t *testing.T) {
	root, _ := load(t)
	for _, tags := range builds {
		for path, p := range goList(t, root, tags) {
			if !strings.HasPrefix(path, module+"/cmd/") {
				continue
			}
			for _, dep := range p.Deps {
				if strings.HasPrefix(dep, module+"/testsupport/") {
					t.Errorf("%s contains %s, which is for tests", path, dep)
				}
			}
		}
	}
}

// breaks reports whether a package itself breaks a rule. The standard library
// uses unsafe and, in places, cgo: of it only net counts.
func breaks(p goPackage, path, rule string) bool {
	switch rule {
	case "net":
		return path == "net" || strings.HasPrefix(path, "net/")
	case "cgo":
		return !p.Standard && (len(p.CgoFiles) > 0 || len(p.CFiles) > 0)
	case "unsafe":
		return !p.Standard && slices.Contains(p.Imports, "unsafe")
	}
	return false
}

// The extension starts no thread, and of other folders includes only shm/layout.h.
func TestExtension(t *testing.T) {
	root, layers := load(t)
	for name, layer := range layers {
		if strings.HasPrefix(name, "fdw/") && !slices.Contains(layer.MustNot, "threads") {
			t.Errorf("the row of %s does not forbid threads", name)
		}
	}
	seen := 0
	err := filepath.WalkDir(filepath.Join(root, "fdw"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || (filepath.Ext(path) != ".c" && filepath.Ext(path) != ".h") {
			return err
		}
		seen++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			for _, thread := range []string{"pthread", "<threads.h>", "<omp.h>", "clone("} {
				if strings.Contains(line, thread) {
					t.Errorf("%s: %q: %s", filepath.Base(path), strings.TrimSpace(line), why["threads"])
				}
			}
			included, ok := strings.CutPrefix(strings.TrimSpace(line), `#include "../`)
			if ok && included != `shm/layout.h"` {
				t.Errorf("%s includes %s, which it may not: %s", filepath.Base(path), included, why["may import"])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Error("no C file found")
	}
}

// docs/internals/dependencies.md explains every directly required module, and no other.
func TestDependenciesAreExplained(t *testing.T) {
	root, _ := load(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", "internals", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]bool{}
	for _, mod := range []string{"go.mod", "tests/go.mod", "tests/duckdb/go.mod"} {
		data, err := os.ReadFile(filepath.Join(root, mod))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "require "))
			name, _, _ := strings.Cut(line, " ")
			if !strings.Contains(line, " v") || strings.Contains(line, "// indirect") || !strings.Contains(name, ".") {
				continue
			}
			required[name] = true
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%s requires %s, which docs/internals/dependencies.md does not explain", mod, name)
			}
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+\\.[^`]+)`").FindAllStringSubmatch(string(text), -1) {
		if !required[m[1]] {
			t.Errorf("docs/internals/dependencies.md explains %s, which is no longer required", m[1])
		}
	}
}
