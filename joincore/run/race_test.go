//go:build race

package run_test

const raceDetector = true
