// Package phj runs partitioned hash joins over columns in device memory:
// PHJ-OM, which moves payload with the key (GFTR), and PHJ-UM, which moves row
// numbers and gathers payload at the end (GFUR).
//
// Everything else of it needs cgo and is built with the tag cuda.
package phj
