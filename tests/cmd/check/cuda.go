package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cudaSteps check, on a machine without a GPU, that device code and its callers
// compile. They compile for one compute capability, or for those in CUDA_ARCHS.
func cudaSteps() []step {
	return []step{
		{"cuda", "toolkit", toolkit},
		{"cuda", "kernels and plugin compile", compileCUDA},
		{"cuda", "kernels compile for 8.0", compileForOlder},
		{"cuda", "kernels fit devices", goTest(".", "0", "-run", "^TestSharedMemoryIsEnough$", "./joincore/cuda/kernels")},
		{"cuda", "go vet, tag cuda", withCUDA("go", "vet", "-tags", "cuda", "./...")},
		{"cuda", "staticcheck, tag cuda", withCUDA(staticcheck, "-tags", "cuda", "./...")},
		{"cuda", "no dead code", noDeadCode},
	}
}

// toolkit downloads a CUDA toolkit if none is installed.
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
	return makes(root, "make", "--no-print-directory", "cuda", "CUDA_ARCHS="+archs)
}

// makes runs a program that runs make, without the job slots and flags of a make above
// it.
func makes(root, name string, args ...string) outcome {
	cmd := exec.Command(name, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MFLAGS=", "MAKELEVEL=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return one(false, string(out)+err.Error())
	}
	return one(true, "")
}

// older are kernels with code or tuning of their own below compute capability 9.0: all
// modules, and of the fused joins the passes with the narrowest and the widest rows.
var older = []string{
	"divide", "general", "sort", "steps", "fused/gj_first_k1_0", "fused/gj_first_k2_8x4", "fused/gj_second_k1_w9", "fused/gj_inner_k1_4x1_4x1",
}

// compileForOlder compiles these kernels, so that code which no test runs compiles and
// fits.
func compileForOlder(root string) outcome {
	args := []string{"make", "--no-print-directory", "-j2", "-C", "joincore/cuda/kernels", "ARCHS=80 90"}
	for _, name := range older {
		args = append(args, "bin/"+name+".80.cubin")
	}
	return makes(root, "tools/with-cuda.sh", args...)
}

// withCUDA runs a program in every module with a CUDA toolkit; a relative path
// starts at the root.
func withCUDA(name string, args ...string) func(string) outcome {
	return func(root string) outcome {
		program := name
		if strings.Contains(name, "/") {
			program = filepath.Join(root, name)
		}
		return inModules("tools/with-cuda.sh", append([]string{program}, args...)...)(root)
	}
}
