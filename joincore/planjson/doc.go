// Package planjson decodes and validates jobs. It turns the JSON of docs/job.md
// into a joincore.Plan in which every reference is in bounds and every key and
// operand has a type that the join code can compare. It is the only decoder of
// that format and does not trust its input.
package planjson
