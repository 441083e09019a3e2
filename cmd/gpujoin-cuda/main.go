//go:build cuda

// Command gpujoin-cuda is the worker that joins on NVIDIA GPUs. The daemon
// starts it.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/links"
	"gpujoin/sidecar/worker/child"
	"gpujoin/version"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		os.Exit(bench(os.Args[2:], os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println("gpujoin-cuda", version.Text)
		return
	}
	memory := flag.String("memory", "90%", "maximum memory of joins on each device: a size, or a percentage of the device's memory")
	keep := flag.String("keep", "40%", "maximum memory, of that, of columns that stay on each device between joins: a size, or a percentage")
	slabs := flag.Int64("slabs", 0, "maximum bytes of page-locked host memory of joins larger than device memory; 0: an eighth of the machine's memory; less: none")
	codes := flag.Int64("codes", 0, "maximum bytes of host memory of codes of texts that stay between joins; 0: none stay")
	rates := flag.String("rates", "", "file of measured rates of devices; none: use default rates")
	devices := flag.Int("devices", 0, "maximum number of devices of a join; 0: as many as pay")
	strategy := flag.String("strategy", "auto", "how devices execute a join together, where they can: "+strings.Join(costmodel.Strategies(), ", "))
	transfer := flag.String("transfer-method", "auto", "how inputs reach a device: "+strings.Join(links.MethodNames(), ", "))
	peers := flag.String("peer-access", "auto", "whether devices access each other's memory: auto, where they can, or off")
	mesh := flag.String("mesh", "", "file of measured connections of devices; none: devices do not copy from each other")
	always := flag.Bool("always", false, "run each join on all idle devices, whether that pays or not: for tests")
	each := flag.Int("each", 1, "how often to open each device, for tests of several devices on a machine that has one")
	flag.Parse()
	how, err := costmodel.ParseStrategy(*strategy)
	if err != nil {
		fmt.Fprintf(os.Stderr, "gpujoin-cuda: -strategy: %v\n", err)
		os.Exit(2)
	}
	method, err := links.ParseMethod(*transfer)
	if err != nil {
		fmt.Fprintf(os.Stderr, "gpujoin-cuda: -transfer-method: %v\n", err)
		os.Exit(2)
	}
	if *peers != "auto" && *peers != peersOff {
		fmt.Fprintf(os.Stderr, "gpujoin-cuda: -peer-access: %q is neither auto nor off\n", *peers)
		os.Exit(2)
	}
	s := settings{memory: *memory, keep: *keep, slabs: *slabs, codes: *codes, rates: *rates, devices: *devices, strategy: how, method: method, peers: *peers, mesh: *mesh, always: *always, each: *each}
	os.Exit(child.Main(func(log *slog.Logger) (*child.Machine, error) { return open(s, log) }))
}
