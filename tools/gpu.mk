# What needs a CUDA toolkit to be built, or a GPU to be run. All of it is built
# below build/cuda/out, from where it runs on a machine that has neither Go nor
# a network.

CUDA_ARCHS ?= 80 90
CUDA_OUT := build/cuda/out
WITH_CUDA := tools/with-cuda.sh

# What needs a device to be tested; worker.test is of sidecar/executor/worker.
GPU_PACKAGES := . driver transfer rowid columnar/phj columnar/smj columnar/npj selector calibrate
GPU_TESTS := cuda driver transfer rowid phj smj npj selector calibrate worker
GPU_PROGRAMS := check bench-gpu bytes-gpu gpujoin-cuda

# What times are of: benches print it, also where there is no git.
COMMIT = $(shell git -c safe.directory='*' describe --always --dirty --exclude='*' 2>/dev/null || echo unknown)

.PHONY: cuda-toolkit cuda test-gpu bench-gpu bytes-gpu gpu-tests gpu-bundle

cuda-toolkit: ## fetch CUDA's compiler into build/cuda, where no toolkit is installed
	@tools/fetch-cuda.sh

cuda: build ## build what joins on NVIDIA GPUs: kernels, gpujoin-cuda, tests, benches
	@$(WITH_CUDA) $(MAKE) --no-print-directory -j$(shell nproc) -C joincore/cuda/kernels ARCHS="$(CUDA_ARCHS)" COMPRESS="$(COMPRESS)"
	@echo "building gpujoin-cuda, tests and benches"
	@mkdir -p $(CUDA_OUT)/bin $(CUDA_OUT)/test
	@$(WITH_CUDA) $(GO) build -tags cuda -ldflags="-s -w" -o $(CUDA_OUT)/bin/gpujoin-cuda ./cmd/gpujoin-cuda
	@$(WITH_CUDA) $(GO) test -c -tags cuda -ldflags="-s -w -X gpujoin/joincore/cuda.commit=$(COMMIT)" -o $(CUDA_OUT)/test/ $(GPU_PACKAGES:%=./joincore/cuda/%)
	@CGO_ENABLED=0 $(GO) test -c -buildvcs=false -ldflags="-s -w" -o $(CUDA_OUT)/test/worker.test ./sidecar/executor/worker
	@cd tests && ../$(WITH_CUDA) $(GO) build -tags cuda -ldflags="-s -w -X main.commit=$(COMMIT)" -o ../$(CUDA_OUT)/bin/bench-gpu ./cmd/benchgpu
	@cd tests && CGO_ENABLED=0 $(GO) build -buildvcs=false -ldflags="-s -w" -o ../$(CUDA_OUT)/bin/check ./cmd/check
	@cd tests && CGO_ENABLED=0 $(GO) build -buildvcs=false -ldflags="-s -w" -o ../$(CUDA_OUT)/bin/bytes-gpu ./cmd/bytesgpu

# Where there is a toolkit everything is brought up to date first; else what
# was built elsewhere is run as it is.
CUDA_BUILT := $(if $(shell tools/find-cuda.sh >/dev/null 2>&1 && tools/find-go.sh),cuda)

test-gpu: $(CUDA_BUILT) ## on a machine with a GPU: kernels, the oracle matrix, faults, sanitizers
	@$(CUDA_OUT)/bin/check -only gpu $(TEST_FLAGS)

bench-gpu: $(CUDA_BUILT) ## on a machine with a GPU: joins of resident columns, and with GJE=dir the paper's executables; in build/bench-gpu.json
	@$(CUDA_OUT)/bin/bench-gpu $(if $(GJE),-gje $(GJE)) $(BENCH_FLAGS)

bytes-gpu: $(CUDA_BUILT) ## where there is ncu, too: bytes that joins move against their model's; in build/bytes-gpu.json
	@$(CUDA_OUT)/bin/bytes-gpu $(BYTES_FLAGS)

# What travels is packed tightly.
gpu-tests gpu-bundle: COMPRESS = size

# Every program has the same kernels: what packs them sees them once.
gpu-tests: cuda ## pack what make test-gpu, bench-gpu and bytes-gpu run on a GPU machine into build/gpu-tests.tar.xz
	@command -v xz >/dev/null || { echo "gpu-tests: there is no xz, which packs them: install xz-utils" >&2; exit 1; }
	@tar --owner=0 --group=0 -cf - $(addprefix $(CUDA_OUT)/,$(GPU_PROGRAMS:%=bin/%) $(GPU_TESTS:%=test/%.test)) | xz --lzma2=preset=2,dict=384MiB >build/gpu-tests.tar.xz
	@du -h --apparent-size build/gpu-tests.tar.xz

gpu-bundle: cuda ## put all that a GPU machine without a network needs for gpu-e2e into build/gpu-bundle
	@GO=$(GO) tools/gpu-bundle.sh
