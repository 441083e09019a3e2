package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"gpujoin/tests/harness"
)

// modules are the directories of the Go modules.
var modules = []string{".", "tests", "tests/duckdb"}

const staticcheck = "build/bin/staticcheck-v0.8.2"

func lintSteps() []step {
	return []step{
		{"lint", "gofmt", gofmt},
		{"lint", "go vet", inModules("go", "vet", "./...")},
		{"lint", "staticcheck", inModules(staticcheck, "./...")},
		{"lint", "shellcheck", shellcheck},
		{"lint", "C warnings, PostgreSQL 15", compileC(installedHeaders)},
		{"lint", "C warnings, PostgreSQL 16", compileC(fetchedHeaders("server", "16"))},
		{"lint", "C warnings, PostgreSQL 17", compileC(fetchedHeaders("headers", "17"))},
		{"lint", "C warnings, PostgreSQL 18", compileC(fetchedHeaders("server", "18"))},
		{"lint", "C warnings, PostgreSQL 19", compileC(fetchedHeaders("headers", "19"))},
	}
}

// command runs a program and returns its output and whether it succeeded.
func command(dir, name string, args ...string) (string, bool) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%s %s: %v\n", out, name, strings.Join(args, " "), err), false
	}
	return string(out), true
}

// one returns the outcome of a step with a single check.
func one(ok bool, output string) outcome {
	if ok {
		return outcome{passed: 1}
	}
	return outcome{failed: 1, output: output}
}

// inModules runs a program in every Go module; a relative path starts at the root.
func inModules(name string, args ...string) func(string) outcome {
	return func(root string) outcome {
		program := name
		if strings.Contains(name, "/") {
			program = filepath.Join(root, name)
		}
		var outcomes []outcome
		for _, module := range modules {
			out, ok := command(filepath.Join(root, module), program, args...)
			outcomes = append(outcomes, one(ok, out))
		}
		return sum(outcomes...)
	}
}

// sources lists the repository's files with a suffix, without build results.
func sources(root, ending string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (path == filepath.Join(root, "build") || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(path, ending) {
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

func gofmt(root string) outcome {
	files, err := sources(root, ".go")
	if err != nil {
		return one(false, err.Error())
	}
	out, ok := command(root, "gofmt", append([]string{"-l"}, files...)...)
	if ok && out != "" {
		return one(false, "not formatted:\n"+out)
	}
	return one(ok, out)
}

func shellcheck(root string) outcome {
	files, err := sources(root, ".sh")
	if err != nil {
		return one(false, err.Error())
	}
	out, ok := command(root, "shellcheck", append(files, filepath.Join(root, ".ci", "run"))...)
	return one(ok, out)
}

// headers returns the directory of the server's header files, or what went wrong.
type headers func(root string) (dir, problem string)

// installedHeaders are those of the server that the other tests run.
func installedHeaders(root string) (dir, problem string) {
	out, ok := command(root, harness.PGConfig(), "--includedir-server")
	if !ok {
		return "", out
	}
	return strings.TrimSpace(out), ""
}

// fetchedHeaders are those of a major version that tools/fetch-postgres.sh fetches,
// with a whole server or alone.
func fetchedHeaders(what, major string) headers {
	return func(root string) (dir, problem string) {
		dir, err := fetch(root, what, major)
		if err != nil {
			return "", err.Error() + "\n"
		}
		if what == "headers" {
			return dir, ""
		}
		return filepath.Join(dir, "include", "postgresql", "server"), ""
	}
}

// compileC recompiles every file of the extension, optimised (some warnings need that),
// with warnings as errors.
func compileC(find headers) func(string) outcome {
	return func(root string) outcome {
		include, problem := find(root)
		if problem != "" {
			return one(false, problem)
		}
		dir := filepath.Join(root, "fdw")
		var files []string
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".c" {
				files = append(files, path)
			}
			return err
		})
		if err != nil || len(files) == 0 {
			return one(false, fmt.Sprintf("no C files: %v", err))
		}
		args := []string{"-D_GNU_SOURCE", "-D_FORTIFY_SOURCE=2", `-DGPUJOIN_VERSION="0"`, "-I" + dir, "-isystem", include,
			"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
			"-Wmissing-prototypes", "-Wvla", "-Wpointer-arith", "-fno-strict-aliasing", "-fwrapv",
			"-fPIC", "-c", "-o", os.DevNull}
		outcomes := make([]outcome, len(files))
		slots := make(chan struct{}, runtime.NumCPU())
		var compilers sync.WaitGroup
		for i, file := range files {
			compilers.Go(func() {
				slots <- struct{}{}
				out, ok := command(root, "gcc", append(slices.Clone(args), file)...)
				outcomes[i] = one(ok, out)
				<-slots
			})
		}
		compilers.Wait()
		return sum(outcomes...)
	}
}

// sum adds outcomes up.
func sum(outcomes ...outcome) outcome {
	var all outcome
	for _, o := range outcomes {
		all.passed += o.passed
		all.failed += o.failed
		all.output += o.output
	}
	return all
}
