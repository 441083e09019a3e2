//go:build cuda

package kernels

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Steps is the image of the kernels of partitioned hash joins over columns in
// device memory that do not depend on the payload.
//
//go:embed bin/steps.fatbin
var Steps []byte

// fused has the other kernels of those joins, one image per kernel.
//
//go:embed bin/fused/*.fatbin
var fused embed.FS

// Fused returns the image of one kernel that depends on the payload kinds, or an
// error if there is none of that name.
func Fused(kernel string) ([]byte, error) {
	image, err := fused.ReadFile(path.Join("bin/fused", kernel+".fatbin"))
	if err != nil {
		return nil, fmt.Errorf("no kernel %s was built", kernel)
	}
	return image, nil
}

// FusedKernels returns the names of these kernels, sorted.
func FusedKernels() []string {
	files, _ := fused.ReadDir("bin/fused") // it is embedded
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name()[:len(f.Name())-len(".fatbin")]
	}
	return names
}

// Send is the image of the histograms of joins that several devices execute together.
//
//go:embed bin/send.fatbin
var Send []byte

// Spans is the image of copies by threads between devices that exchange rows.
//
//go:embed bin/spans.fatbin
var Spans []byte

// General is the image of the kernels of joins by row id: keys, filters, matches of
// all kinds, gathers.
//
//go:embed bin/general.fatbin
var General []byte

// Aggregate is the image of the kernels that group rows.
//
//go:embed bin/aggregate.fatbin
var Aggregate []byte

// fixed has the kernels that package rowid makes kernels of single programs of: PTX
// for each compute capability.
//
//go:embed bin/fixed.*.ptx.gz
var fixed embed.FS

// Fixed returns PTX for package rowid that runs on devices of compute capability
// major.minor: that of the highest capability which they have.
func Fixed(major, minor int) (string, error) {
	files, err := fixed.ReadDir("bin")
	if err != nil {
		return "", err
	}
	var fit []int
	for _, f := range files {
		if arch, err := strconv.Atoi(strings.Split(f.Name(), ".")[1]); err == nil && arch <= 10*major+minor {
			fit = append(fit, arch)
		}
	}
	if len(fit) == 0 {
		return "", fmt.Errorf("no PTX was built for compute capability %d.%d", major, minor)
	}
	packed, err := fixed.ReadFile(fmt.Sprintf("bin/fixed.%d.ptx.gz", slices.Max(fit)))
	if err != nil {
		return "", err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

// Sort is the image of sorting, merging and the join without partitions.
//
//go:embed bin/sort.fatbin
var Sort []byte

// Divide is the image that divides inputs which are larger than the device.
//
//go:embed bin/divide.fatbin
var Divide []byte

// Data is the image that generates inputs of joins and sums up results, for tests
// and benchmarks.
//
//go:embed bin/data.fatbin
var Data []byte

// Transfer is the image of copies by threads between host and device, and of the
// checksum that verifies them.
//
//go:embed bin/transfer.fatbin
var Transfer []byte
