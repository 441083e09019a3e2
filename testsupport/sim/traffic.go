package sim

import "math"

// Uniform returns traffic of the same bytes between each two GPUs.
func Uniform(gpus int, bytes int64) [][]int64 { return Zipf(gpus, bytes, 0) }

// Zipf returns traffic of the same bytes in all as Uniform, whose rows are
// placed by a Zipf distribution: GPU g has a part proportional to 1 / (g+1)^z.
// Where rows go does not depend on where they are.
func Zipf(gpus int, bytes int64, z float64) [][]int64 {
	var sum float64
	for g := range gpus {
		sum += math.Pow(float64(g+1), -z)
	}
	traffic := make([][]int64, gpus)
	for from := range traffic {
		part := math.Pow(float64(from+1), -z) / sum * float64(gpus)
		traffic[from] = make([]int64, gpus)
		for to := range traffic[from] {
			if from != to {
				traffic[from][to] = int64(float64(bytes) * part)
			}
		}
	}
	return traffic
}
