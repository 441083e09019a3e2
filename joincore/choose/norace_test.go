//go:build !race

package choose_test

const raceDetector = false
