package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gpujoin/tests/harness"
)

// modules are the directories of the Go modules.
var modules = []string{".", "tests"}

const staticcheck = "build/bin/staticcheck-v0.8.2"

func lintSteps() []step {
	return []step{
		{"lint", "gofmt", gofmt},
		{"lint", "go vet", inModules("go", "vet", "./...")},
		{"lint", "staticcheck", inModules(staticcheck, "./...")},
		{"lint", "shellcheck", shellcheck},
		{"lint", "C warnings", compileC},
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
		var all outcome
		for _, module := range modules {
			out, ok := command(filepath.Join(root, module), program, args...)
			o := one(ok, out)
			all.passed += o.passed
			all.failed += o.failed
			all.output += o.output
		}
		return all
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

// compileC recompiles every file of the extension, optimised (some warnings need that),
// with warnings as errors.
func compileC(root string) outcome {
	config := harness.PGConfig()
	include, ok := command(root, config, "--includedir-server")
	if !ok {
		return one(false, include)
	}
	flags, ok := command(root, config, "--cppflags")
	if !ok {
		return one(false, flags)
	}
	files, err := filepath.Glob(filepath.Join(root, "fdw", "*.c"))
	if err != nil || len(files) == 0 {
		return one(false, fmt.Sprintf("no C files: %v", err))
	}
	args := append(strings.Fields(flags), "-isystem", strings.TrimSpace(include),
		"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
		"-Wmissing-prototypes", "-Wvla", "-Wpointer-arith", "-fno-strict-aliasing", "-fwrapv",
		"-fPIC", "-c", "-o", os.DevNull)
	var all outcome
	for _, file := range files {
		out, ok := command(root, "gcc", append(args, file)...)
		o := one(ok, out)
		all.passed += o.passed
		all.failed += o.failed
		all.output += o.output
	}
	return all
}
