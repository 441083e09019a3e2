// Package cuda is the CUDA provider: a device.Bulk over the memory of one
// NVIDIA GPU.
//
// # Memory
//
// A provider maps its budget of device memory once, as one arena, and divides
// it into sites; an execution takes the largest site that is free. A site is a
// stack at the front, for the steps of a plan and their results, and a heap
// cut off its end, for what does not live like a stack: imported columns and
// collections. Nothing is allocated from the driver while a plan runs.
//
// # Transfers
//
// Import remembers an input; a column crosses the link when a step first reads
// it, whole, on a stream of its own, so that columns that are read later cross
// while the device works. Host memory that was registered with the provider is
// copied where it lies; other memory through page-locked buffers. Values of
// variable length, and values of widths that no kernel moves, are read on the
// device only where they are keys; in results they are copied on the host, by
// row number, straight from the input into the sink's batch.
//
// # Work
//
// All steps of an execution are queued on one stream in order. Results are
// gathered on further streams, one for each stream of the execution, so that
// one batch crosses the link while the next one is gathered.
//
// Everything that needs cgo is built with the tag cuda.
package cuda
