# Targets that need a CUDA toolkit to build, or a GPU to run. Results are placed
# below build/cuda/out and run from there, also on a machine that has neither Go
# nor a network.

CUDA_ARCHS ?= 80 90
CUDA_OUT := build/cuda/out
WITH_CUDA := tools/with-cuda.sh

# Packages and test programs whose tests need a device. worker.test contains the
# tests of sidecar/worker.
GPU_PACKAGES := . outofcore driver rowid columnar columnar/phj columnar/selector links transferjoin fabric mgj
GPU_TESTS := cuda outofcore driver rowid columnar phj selector links fabric worker
GPU_PROGRAMS := check gpu gpujoin-cuda

# What test-multi and bench-multi run.
MULTI := bin/check bin/gpu bin/gpujoin-cuda test/driver.test test/links.test test/fabric.test test/mgj.test

# Benchmarks print the commit, also on machines without git.
COMMIT = $(shell git -c safe.directory='*' describe --always --dirty --exclude='*' 2>/dev/null || echo unknown)

.PHONY: cuda-toolkit cuda test-gpu bench-gpu bytes-gpu test-multi bench-multi gpu-tests multi-tests gpu-bundle

cuda-toolkit: ## fetch the CUDA compiler into build/cuda if no toolkit is installed
	@tools/fetch-cuda.sh

cuda: build ## build the CUDA provider: kernels, gpujoin-cuda, tests, benchmarks
	@$(WITH_CUDA) $(MAKE) --no-print-directory -j$(shell nproc) -C joincore/cuda/kernels ARCHS="$(CUDA_ARCHS)" COMPRESS="$(COMPRESS)"
	@echo "building gpujoin-cuda, tests and benches"
	@mkdir -p $(CUDA_OUT)/bin $(CUDA_OUT)/test
	@$(WITH_CUDA) $(GO) build -tags cuda -ldflags="-s -w" -o $(CUDA_OUT)/bin/gpujoin-cuda ./cmd/gpujoin-cuda
	@$(WITH_CUDA) $(GO) test -c -tags cuda -ldflags="-s -w -X gpujoin/joincore/cuda.commit=$(COMMIT)" -o $(CUDA_OUT)/test/ $(GPU_PACKAGES:%=./joincore/cuda/%)
	@CGO_ENABLED=0 $(GO) test -c -buildvcs=false -ldflags="-s -w" -o $(CUDA_OUT)/test/worker.test ./sidecar/worker
	@cd tests && ../$(WITH_CUDA) $(GO) build -tags cuda -ldflags="-s -w -X gpujoin/tests/measure.builtFrom=$(COMMIT)" -o ../$(CUDA_OUT)/bin/gpu ./cmd/gpu
	@cd tests && CGO_ENABLED=0 $(GO) build -buildvcs=false -ldflags="-s -w" -o ../$(CUDA_OUT)/bin/check ./cmd/check

# With a toolkit, everything is rebuilt first if needed. Otherwise programs that
# were built elsewhere run as they are.
CUDA_BUILT := $(if $(shell tools/find-cuda.sh >/dev/null 2>&1 && tools/find-go.sh),cuda)

test-gpu: $(CUDA_BUILT) ## on a machine with a GPU: test kernels, joins against the oracle, faults; run sanitizers
	@$(CUDA_OUT)/bin/check -only gpu $(TEST_FLAGS)

bench-gpu: $(CUDA_BUILT) ## on a machine with a GPU: measure joins of resident columns, with GJE=dir also the paper's programs; writes build/bench-gpu.json
	@$(CUDA_OUT)/bin/gpu bench $(if $(GJE),-gje $(GJE)) $(BENCH_FLAGS)

bytes-gpu: $(CUDA_BUILT) ## on a machine with a GPU and ncu: compare the bytes that joins move with their model; writes build/bytes-gpu.json
	@$(CUDA_OUT)/bin/gpu bytes $(BYTES_FLAGS)

test-multi: $(CUDA_BUILT) ## on a machine with GPUs, best two or more: test the links between them, exchanges, and joins over several GPUs
	@$(CUDA_OUT)/bin/check -only multi $(TEST_FLAGS)

bench-multi: $(CUDA_BUILT) ## on a machine with several GPUs: measure links and exchanges, emulate a DGX-1; writes build/bench-multi.json
	@$(CUDA_OUT)/bin/gpu multi $(BENCH_FLAGS)

# Archives that are copied to other machines are compressed for size.
gpu-tests multi-tests gpu-bundle: COMPRESS = size

# All programs contain the same kernels, so one archive compresses them well.
gpu-tests: cuda ## pack the programs of test-gpu, bench-gpu and bytes-gpu for a machine with a GPU into build/gpu-tests.tar.xz
	@command -v xz >/dev/null || { echo "gpu-tests: xz is missing; install xz-utils" >&2; exit 1; }
	@tar --owner=0 --group=0 -cf - $(addprefix $(CUDA_OUT)/,$(GPU_PROGRAMS:%=bin/%) $(GPU_TESTS:%=test/%.test)) | xz --lzma2=preset=2,dict=384MiB >build/gpu-tests.tar.xz
	@du -h --apparent-size build/gpu-tests.tar.xz

multi-tests: cuda ## pack the programs of test-multi and bench-multi into build/multi-tests.tar.xz
	@command -v xz >/dev/null || { echo "multi-tests: xz is missing; install xz-utils" >&2; exit 1; }
	@tar --owner=0 --group=0 -cf - $(addprefix $(CUDA_OUT)/,$(MULTI)) | xz --lzma2=preset=2,dict=384MiB >build/multi-tests.tar.xz
	@du -h --apparent-size build/multi-tests.tar.xz

gpu-bundle: cuda ## collect everything that gpu-e2e needs on a bare machine with a GPU in build/gpu-bundle
	@GO=$(GO) tools/gpu-bundle.sh
