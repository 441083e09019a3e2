// Package exec executes plans on a device.
//
// It decides which side of each join is built and what is stored between joins. On
// a Chunked device, chains of joins become pipelines that pass only row ids; on a
// Bulk device, every step takes and returns whole spaces. Payload is gathered last,
// directly into the sink's batches.
//
// The algorithms are the no-partitioning join, and the partitioned hash join and the
// sort-merge join with payload gathered from untransformed (UM) or transformed
// relations (OM). Each is part of a Pipeline: a source of chunks, steps that filter
// or probe, and a consumer. A chunk passes through all steps before the source makes
// the next one, so that results stream and nothing is stored between steps.
//
// Calibrate measures the rates of a device by joins of generated data.
package exec
