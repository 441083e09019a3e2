// Package mgj joins columns in the memory of several GPUs, as MG-Join does (Paul et al.,
// SIGMOD 2021), with the partitioned hash join of package phj on each of them:
//
//  1. Every GPU counts its rows by partition of the first pass.
//  2. The host assigns partitions to GPUs by these histograms.
//  3. Every GPU's first pass stores its rows straight into the memory of the GPUs that
//     join them, at places that the histograms leave to it alone. Or it leaves them in
//     blocks of its own memory, which copy engines copy there.
//  4. Every GPU joins the partitions that it has received. The result stays there.
//
// GPUs that cannot access each other's memory leave rows in blocks, too, and a fabric copies
// them over the links of its mesh. Rows in blocks are compressed before they cross links that are so slow
// that it pays.
//
// Sides are sent in ranges, so that a GPU partitions what it has received of one while the
// next one is on its way.
//
// Everything but the assignment needs cgo and has the build tag cuda.
package mgj
