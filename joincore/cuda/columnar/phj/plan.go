package phj

// maxBits bounds the bits of both passes.
const maxBits = 16

// partitionBits returns the number of hash bits such that, on average, a partition of
// the build side fills 9/10 of a work item's chunk.
func partitionBits(buildRows int64, chunkRows int) int {
	b := 0
	for b < maxBits && (buildRows>>b)*10 > int64(chunkRows)*9 {
		b++
	}
	return b
}

// splitBits divides bits between two passes; second is 0 if one suffices. mostFirst
// and mostSecond are the kernels' limits.
func splitBits(b, mostFirst, mostSecond int) (first, second int) {
	b = min(b, mostFirst+mostSecond)
	if b <= mostFirst {
		return b, 0
	}
	first = max(min(b/2, mostFirst), b-mostSecond)
	return first, b - first
}

// outputChunk returns the rows of a chunk of the result: large if blocks fill many
// chunks, small if each fills few.
func outputChunk(rows int64, blocks int) int64 {
	chunk := int64(512)
	for chunk < 4096 && chunk*int64(blocks)*64 < rows {
		chunk *= 2
	}
	return chunk
}
