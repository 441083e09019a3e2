//go:build race

package costmodel_test

const raceDetector = true
