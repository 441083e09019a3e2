package mgj

// leastCopied and leastReplicated are how many bytes a GPU sends to others, at least, in an
// exchange and of a build side, if they are copied.
const leastCopied, leastReplicated = 192 << 20, 64 << 20

// fastMemory reports whether memory is so much faster than links, both in GB/s, that copying
// columns of an exchange pays: an H200's is 13 times faster, an H100's 9 times.
func fastMemory(memory, links float64) bool { return memory >= 11*links }

// copiesPay reports whether copies of rows are faster than stores. Stores begin earlier, and
// wait for the links; copies read and write memory once more, but ordinary first passes precede
// them. What is replicated takes links only for a while.
//
// sent is about how many bytes of each side a GPU sends to others in an exchange. columns says
// whether rows consist of columns or of row ids, and fast is what fastMemory returns.
func (s Strategy) copiesPay(gpus int, sent [2]int64, columns, fast bool) bool {
	switch s {
	case Exchange:
		return !columns || fast && sent[0]+sent[1] >= leastCopied
	case Replicate:
		return sent[0]*int64(gpus) >= leastReplicated
	}
	return false
}
