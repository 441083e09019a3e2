// Package phj runs partitioned hash joins over columns in device memory:
// PHJ-OM, which moves payload with the key (GFTR), and PHJ-UM, which moves row
// ids and gathers payload at the end (GFUR).
//
// Except for the plan and the model, the package needs cgo and has the build tag cuda.
package phj
