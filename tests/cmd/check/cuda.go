package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cudaSteps show, on a machine without a GPU, that device code and what calls
// it still compile. One compute capability is enough for that; CUDA_ARCHS in
// the environment asks for others.
func cudaSteps() []step {
	return []step{
		{"cuda", "toolkit", toolkit},
		{"cuda", "kernels and plugin compile", compileCUDA},
		{"cuda", "go vet, tag cuda", withCUDA("go", "vet", "-tags", "cuda", "./...")},
		{"cuda", "staticcheck, tag cuda", withCUDA(staticcheck, "-tags", "cuda", "./...")},
	}
}

// toolkit fetches one where none is installed.
func toolkit(root string) outcome {
	if _, ok := command(root, "tools/find-cuda.sh"); ok {
		return one(true, "")
	}
	out, ok := command(root, "tools/fetch-cuda.sh")
	return one(ok, out)
}

func compileCUDA(root string) outcome {
	archs := os.Getenv("CUDA_ARCHS")
	if archs == "" {
		archs = "90"
	}
	cmd := exec.Command("make", "--no-print-directory", "cuda", "CUDA_ARCHS="+archs)
	cmd.Dir = root
	// A make above us must not lend us its job slots or flags.
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MFLAGS=", "MAKELEVEL=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return one(false, string(out)+err.Error())
	}
	return one(true, "")
}

// withCUDA runs a program in every module with a toolkit beside it; a path is
// taken from the root.
func withCUDA(name string, args ...string) func(string) outcome {
	return func(root string) outcome {
		program := name
		if strings.Contains(name, "/") {
			program = filepath.Join(root, name)
		}
		return inModules("tools/with-cuda.sh", append([]string{program}, args...)...)(root)
	}
}
