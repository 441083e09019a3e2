// Package bench has the bars of the benchmarks: the values that their results must reach.
// The file bars.json is their only source, and results lies next to it with the recorded
// results.
package bench

import _ "embed"

// Bars is the content of bars.json.
//
//go:embed bars.json
var Bars []byte
