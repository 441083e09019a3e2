//go:build cuda

package kernels

import (
	"embed"
	"fmt"
	"path"
)

// Steps holds the steps of partitioned hash joins over columns in device memory
// that are the same for all payloads.
//
//go:embed bin/steps.fatbin
var Steps []byte

// fused has the other kernels of those joins, each by itself.
//
//go:embed bin/fused/*.fatbin
var fused embed.FS

// Fused returns the image of one kernel that a partitioned hash join has for its
// forms of payload.
func Fused(kernel string) ([]byte, error) {
	image, err := fused.ReadFile(path.Join("bin/fused", kernel+".fatbin"))
	if err != nil {
		return nil, fmt.Errorf("no kernel %s was built", kernel)
	}
	return image, nil
}

// FusedKernels returns the names of all such kernels, in order.
func FusedKernels() []string {
	files, _ := fused.ReadDir("bin/fused") // it is embedded
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name()[:len(f.Name())-len(".fatbin")]
	}
	return names
}

// General holds the steps of every join: keys, filters, matching of all kinds,
// gathers.
//
//go:embed bin/general.fatbin
var General []byte

// Sort holds sorting, merging and the join without partitions.
//
//go:embed bin/sort.fatbin
var Sort []byte

// Divide holds the division of inputs that are larger than the device.
//
//go:embed bin/divide.fatbin
var Divide []byte

// Data makes inputs of joins on the device and sums up results, for tests and
// benches.
//
//go:embed bin/data.fatbin
var Data []byte

// Transfer holds copies by threads over what a device sees of the host, and
// the sum that verifies them.
//
//go:embed bin/transfer.fatbin
var Transfer []byte
