// Package cuda is the CUDA provider: a device.Bulk over the memory of one
// NVIDIA GPU.
//
// # Memory
//
// A provider maps its budget of device memory once, as one arena, and divides
// it into workspaces; an execution takes the largest idle workspace. A
// workspace has a stack at its front for the steps of a plan and their results,
// and a heap at its end for memory with other lifetimes: imported columns and
// collections. While a plan runs, nothing is allocated from the driver.
//
// # Types
//
// Each uses only those that follow it: Provider, execution (one plan; its steps make joins,
// collections and groups), stream (gathers results), space (rows of a step), view (rows of an input
// and its columns on the device), workspace (memory and streams), gpu (the device, and how host
// memory is copied to it).
//
// # Transfers
//
// Import only registers an input. A column is uploaded when a step first reads
// it, completely, on a stream of its own, so that columns that are read later are
// uploaded while the device works. Registered host memory is copied where it
// lies; other memory is staged through page-locked buffers. The device reads
// values of variable length, and values of widths that no kernel moves, only
// where they are keys. In results the host copies them by row id, straight from
// the input into the sink's batch.
//
// # Columns that stay
//
// A column of which at least half of the rows have a content (joincore.Vector) stays in the
// heap when the execution that has brought it ends, and package resident finds its rows from
// then on. A later execution reads it where it is, if its rows follow each other there as they
// do in the input; otherwise it copies what there is within the device and brings the rest. The
// heap and the stack take the memory of columns that nobody reads before they are full.
//
// # Larger than the device
//
// A view is a set of rows of an input whose columns are uploaded separately. A
// large probe side is uploaded in windows, which are views of neighbouring
// segments. Three windows are in flight: one is uploaded into the half of a ring
// that an earlier window has left, one is joined, and the result of one is
// downloaded.
//
// If the build side does not fit, package outofcore partitions both sides and joins
// one co-partition after the other. It uses an execution through an interface:
// views, rings, downloads and host memory of the job (outofcore.go).
//
// A build side that is itself a result, has one key too often, or has a key of
// variable length can be joined neither way: the result is joincore.ErrBudget.
//
// # Joins
//
// An inner join on keys of at most 8 bytes together, with complete inputs, runs
// on materialised columns: payload moves with the key where that is cheaper
// (package selector). Rows without a key are dropped first. All other joins find
// pairs of row ids (package rowid) and leave payload to later steps.
//
// # Aggregates
//
// Rows of spaces are grouped in a hash table in the heap, which outlives the joins
// below it (rowid.Groups). The groups become an input of the execution: a view whose
// columns are on the device. Carried columns are gathered by the row that was noted for
// each group; those that no kernel gathers are copied by the host, through the same
// row numbers.
//
// # Hashes
//
// A join hashes its keys by one bijection (kernels/block/hash.cuh). No two
// decisions use the same bits: the highest bits number the partition of the
// first pass, the bits below them that of the second pass, and the lowest bits the
// bucket of a partition's table. The hash starts from a random seed, drawn once for
// the process, so that a user cannot prepare keys that collide.
//
// # Work
//
// All steps of an execution are queued on one stream in order. Filter and Probe
// wait for the number of rows that they produce, because Rows must be known; the
// results of Gather and Measure are pending futures. Each stream of the execution
// gathers on a CUDA stream of its own, so that one batch is downloaded while the
// next one is gathered.
//
// Everything that needs cgo has the build tag cuda.
package cuda
