// Package multi is a provider that spreads plans over several devices. Each device is a
// member: a provider of its own, with which package run executes fragments of the plan.
//
// A provider from Replicate exchanges no rows: members divide one input and read the others
// whole (Divide). The rest is about a provider from New, which exchanges rows.
//
// A fragment is as much of a plan as members can execute each on its own rows: filters,
// one join, aggregates. Between fragments, rows are exchanged so that those that belong
// together meet on one member. The steps of an exchange:
//
//  1. Hash: each member computes the partition of each of its rows from the key, and
//     counts rows by partition.
//  2. Assign: exchange.Assign decides from all counts which members get which
//     partitions, and of which side.
//  3. Scatter: each member writes its rows in column layout into blocks, one for each
//     set of members that get the same rows.
//  4. Exchange: package exchange/live sends the blocks over the links of the mesh.
//
// The rows of an input are divided evenly at first. Rows that find no partner and are
// not returned stay where they are and are dropped. Rows with a NULL in the key of a join
// never leave their member. An aggregate is computed after an exchange by its keys; if
// its functions allow it, and it promises fewer rows, each member first groups its own
// rows, and partial groups are exchanged and merged.
//
// The host does the first three steps, so that rows pass through its memory between
// fragments.
package multi
