// Package plan decodes and validates jobs: the JSON of docs/job.md becomes a
// joincore.Plan in which every reference is in bounds and every key and
// operand is of a type that the join code can compare. It is the only decoder
// of that format and assumes nothing about who wrote the bytes.
package plan
