package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/program"
	"gpujoin/joincore/textcodes"
	"gpujoin/shm"
	"gpujoin/sidecar"
	"gpujoin/sidecar/config"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/memory"
	"gpujoin/sidecar/worker"
)

// The name of the provider for GPUs and of its worker program.
const (
	cudaProvider = "cuda"
	cudaProgram  = "gpujoin-cuda"
)

// cudaPlugin returns the path at which the worker program is expected.
func cudaPlugin(cfg *config.Config) (string, error) {
	if cfg.CUDAPlugin != "" {
		return cfg.CUDAPlugin, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(self), cudaProgram), nil
}

// deviceRates returns the path of the file with the rates measured on GPUs.
func deviceRates(cfg *config.Config) string { return cfg.StateFile("device-rates") }

// meshFile returns the path of the file with the measured links between GPUs.
func meshFile(cfg *config.Config) string {
	if cfg.CUDAMesh != "" {
		return cfg.CUDAMesh
	}
	return cfg.StateFile("mesh")
}

// probeCUDA returns an error that names what this machine lacks for joins on a
// GPU.
func probeCUDA(cfg *config.Config, environ []string) error {
	if _, err := worker.FindDriver("/", environ); err != nil {
		return err
	}
	path, err := cudaPlugin(cfg)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("the worker program is missing: %w", err)
	}
	return nil
}

// workerMemory returns the maximum number of bytes of page-locked host memory of the worker, for
// joins that exceed a GPU, and that of codes of texts. Between two joins the worker keeps both
// outside of the budget, so all together must not exceed the largest budget. slabs: -1 means none.
func workerMemory(cfg *config.Config) (slabs, codes int64) {
	n := min(cfg.Memory.Total/8, largestBudget(cfg)-cfg.MemoryBudget)
	if n <= 0 {
		return -1, 0
	}
	return n - n/4, n / 4
}

// cudaWorker returns the configuration of the GPU worker.
func cudaWorker(cfg *config.Config, environ []string) (worker.Config, error) {
	path, err := cudaPlugin(cfg)
	slabs, codes := workerMemory(cfg)
	args := []string{
		"--memory", cfg.CUDAMemory, "--keep", cfg.CUDAKeep, "--slabs", strconv.FormatInt(slabs, 10), "--codes", strconv.FormatInt(codes, 10),
		"--devices", strconv.Itoa(cfg.CUDADevices), "--strategy", cfg.CUDAStrategy, "--transfer-method", cfg.CUDATransfer,
		"--peer-access", cfg.CUDAPeers, "--mesh", meshFile(cfg),
	}
	if cfg.Calibrate {
		args = append(args, "--rates", deviceRates(cfg))
	}
	return worker.Config{
		Name: cudaProvider, Path: path, Args: args, Checksum: cfg.CUDAChecksum,
		Sockets: cfg.Socket + ".worker", Environ: environ, Timing: worker.DefaultTiming,
		Probe: func() error { return probeCUDA(cfg, environ) },
		Check: textcodes.Check(program.CheckPlan),
	}, err
}

// preferred returns the executors that are tried before this process runs a job,
// and the policy that selects jobs for them.
func preferred(cfg *config.Config, environ []string, cores *sidecar.Rates, log *slog.Logger) (executor.Policy, []func(*memory.Store) executor.Executor, error) {
	policy := executor.Policy{MinRows: cfg.CUDAMinRows, Worth: worth(cfg, cores)}
	switch cfg.Provider {
	case "cpu":
		return policy, nil, nil
	case "cuda":
		policy = executor.Policy{Insist: true}
	}
	settings, err := cudaWorker(cfg, environ)
	if err != nil {
		return policy, nil, err
	}
	settings.Log = log
	return policy, []func(*memory.Store) executor.Executor{func(store *memory.Store) executor.Executor {
		settings.Store = store
		return worker.Start(settings)
	}}, nil
}

// worth returns a predicate that accepts the jobs for which the cost model
// predicts less time on a GPU than on this machine's cores.
func worth(cfg *config.Config, cores *sidecar.Rates) func(*executor.Job, func(content uint64) bool) bool {
	latest := costmodel.NewLatestRates(deviceRates(cfg))
	_, codes := workerMemory(cfg)
	return func(job *executor.Job, resident func(content uint64) bool) bool {
		return textcodes.PredictDevice(program.CheckPlan, job.Plan, job.Inputs, latest.Rates(), cfg.Cores, resident, codes > 0) < textcodes.PredictCores(job.Plan, job.Inputs, cores.Now(), cfg.Cores)
	}
}

// checkCUDA reports whether joins can run on GPUs. A missing GPU is an error
// only if the configuration requires one.
func checkCUDA(cfg *config.Config, environ []string) (string, error) {
	if cfg.Provider == "cpu" {
		return "not used: provider is cpu", nil
	}
	text, served, err := askCUDA(cfg)
	if !served {
		text, err = tryCUDA(cfg, environ)
	}
	if err != nil && cfg.Provider == "auto" {
		return fmt.Sprintf("not used: %v", err), nil
	}
	return text + "; " + usedRates(cfg), err
}

// usedRates describes the rates by which joins are assigned to GPUs.
func usedRates(cfg *config.Config) string {
	if !cfg.Calibrate {
		return "default rates"
	}
	list, err := costmodel.ReadRates(deviceRates(cfg))
	switch {
	case len(list) > 0:
		return fmt.Sprintf("rates of %s", list[0].At.Format(time.DateTime))
	case err != nil:
		return fmt.Sprintf("default rates: %v", err)
	}
	return "default rates: none were measured"
}

// askCUDA asks the running daemon, if there is one, because that daemon holds
// the GPU's memory.
func askCUDA(cfg *config.Config) (text string, served bool, err error) {
	status, err := daemonStatus(cfg)
	if err != nil {
		return "", false, nil
	}
	var ready, unused []string
	for _, d := range status.Devices {
		switch {
		case d.Provider != cudaProvider:
		case d.State == executor.StateReady && d.Name != "":
			ready = append(ready, fmt.Sprintf("%s, %d MB for joins", d.Name, d.Budget>>20))
		default:
			unused = append(unused, fmt.Sprintf("%s in the daemon: %s", d.State, d.Reason))
		}
	}
	switch {
	case len(ready) > 0:
		return strings.Join(append(ready, unused...), "; "), true, nil
	case len(unused) > 0:
		return "", true, errors.New(strings.Join(unused, "; "))
	}
	return "", true, errors.New("the daemon was started without this provider")
}

// checkPatience is how long a worker may take to become ready for a check.
const checkPatience = 30 * time.Second

// tryCUDA starts a worker temporarily and runs a join on it.
func tryCUDA(cfg *config.Config, environ []string) (string, error) {
	if err := probeCUDA(cfg, environ); err != nil {
		return "", err
	}
	one := *cfg
	one.CUDADevices = 1 // a check measures no links
	settings, err := cudaWorker(&one, environ)
	if err != nil {
		return "", err
	}
	store, err := memory.NewStore(shm.ExtentMinSize, 1<<28, 64)
	if err != nil {
		return "", err
	}
	defer store.Close()
	settings.Sockets += ".check"
	settings.Store, settings.Log, settings.Timing.RestartFirst = store, slog.New(slog.DiscardHandler), time.Hour
	settings.Timing.RestartMost, settings.Timing.Start = time.Hour, checkPatience
	r := worker.Start(settings)
	defer r.Close()
	d := r.Devices()[0]
	for ; d.State == executor.StateStarting; d = r.Devices()[0] {
		time.Sleep(10 * time.Millisecond)
	}
	if err := r.Ready(); err != nil {
		return "", err
	}
	rows, err := sidecar.SelfTest(context.Background(), r, store)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %d MB for joins, a test join returned the right %d rows", d.Name, d.Budget>>20, rows), nil
}
