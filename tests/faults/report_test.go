package faults

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// announced returns an event by which a test announces a point.
func announced(test string) string {
	return fmt.Sprintf(`{"Action":"attr","Package":"p","Test":%q,"Key":"fault","Value":"{\"what\":\"killed\",\"process\":\"gpujoind\",\"limit_s\":60}"}`, test)
}

// Points and what they find are counted; a failed test that contains a failed point, and its
// package, are not counted again.
func TestReport(t *testing.T) {
	var said []string
	r := newReport("server", func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	err := r.read(strings.NewReader(strings.Join([]string{
		announced("TestA/one"), `{"Action":"pass","Package":"p","Test":"TestA/one","Elapsed":0.5}`,
		announced("TestA/slow"), `{"Action":"pass","Package":"p","Test":"TestA/slow","Elapsed":61}`,
		announced("TestA/leaks"), `{"Action":"attr","Package":"p","Test":"TestA/leaks","Key":"leak","Value":"a file"}`,
		`{"Action":"output","Package":"p","Test":"TestA/leaks","Output":"    a_test.go:7: a file\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestA/leaks","Elapsed":1}`, `{"Action":"fail","Package":"p","Test":"TestA"}`,
		announced("TestB"), `{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: needs to be root\n"}`,
		`{"Action":"skip","Package":"p","Test":"TestB"}`,
		announced("TestC"), `{"Action":"fail","Package":"p"}`,
		`{"Action":"output","Package":"q","Output":"panic: no\n"}`, `{"Action":"fail","Package":"q"}`,
	}, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	r.finish()
	if want := `{"points":4,"failed":3,"skipped":1,"wrong":0,"leaks":1,"restarts":0}`; r.summary() != want {
		t.Errorf("%s instead of %s", r.summary(), want)
	}
	var results []string
	for _, w := range r.Rows {
		results = append(results, w.Result)
	}
	if want := []string{"ok", "failed", "failed", "skipped", "unfinished"}; !slices.Equal(results, want) {
		t.Errorf("%q instead of %q", results, want)
	}
	if r.Rows[3].Output != "needs to be root" || !slices.Equal(r.Rows[2].Findings, []string{"leak: a file"}) {
		t.Errorf("%+v, %+v", r.Rows[3], r.Rows[2])
	}
	if len(r.Others) != 1 || !strings.Contains(r.Others[0], "panic: no") {
		t.Errorf("outside of points: %q", r.Others)
	}
	if !r.bad() {
		t.Error("nothing is wrong")
	}
}

// Every test that announces a point is run, and every test that is run announces some.
func TestSuites(t *testing.T) {
	for _, s := range suites {
		found := announcing(t, filepath.Join("..", s.dir))
		for _, name := range s.tests {
			if !found[name] {
				t.Errorf("%s in %s announces no point", name, s.dir)
			}
			delete(found, name)
		}
		for name := range found {
			t.Errorf("%s in %s announces points, but make faults does not run it", name, s.dir)
		}
	}
}

// announcing returns the tests in a directory that announce points, themselves or by a
// method that they call.
func announcing(t *testing.T, dir string) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string][]string{} // the names that a function calls
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					switch name := call.Fun.(type) {
					case *ast.Ident:
						calls[f.Name.Name] = append(calls[f.Name.Name], name.Name)
					case *ast.SelectorExpr:
						calls[f.Name.Name] = append(calls[f.Name.Name], name.Sel.Name)
					}
				}
				return true
			})
		}
	}
	found := map[string]bool{}
	for name, called := range calls {
		if !strings.HasPrefix(name, "Test") {
			continue
		}
		for _, c := range called {
			if c == "Announce" || slices.Contains(calls[c], "Announce") {
				found[name] = true
			}
		}
	}
	return found
}
