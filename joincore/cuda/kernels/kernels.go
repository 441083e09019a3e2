//go:build cuda

package kernels

import _ "embed"

// Fused holds partitioned hash joins over columns in device memory.
//
//go:embed bin/fused.fatbin
var Fused []byte

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
