// Package smj runs sort-merge joins over columns in device memory: SMJ-OM,
// which sorts payload with the key (GFTR), and SMJ-UM, which sorts row numbers
// with it and gathers payload at the end (GFUR).
//
// What a join will take is known before its first allocation (volume.go): where
// that is above its bound or what is free, SMJ-OM sorts payload one column at a
// time, and row numbers lie in the result's own columns until the last of these
// is gathered.
//
// Both sides are sorted by the top bits of a bijective hash of the key, as many
// as tell the build rows apart, so that the passes depend on the number of rows
// and neither on the key's width nor on its values. Rows of equal bits are told
// apart by the whole hash when they are merged. The result is in no order.
//
// Everything else of it but the plan needs cgo and is built with the tag cuda.
package smj
