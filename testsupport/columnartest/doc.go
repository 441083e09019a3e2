// Package columnartest has test helpers for joins over columns in device memory: a
// comparison of results with a reference on the host, which needs a GPU (go test -c
// -tags cuda), and a comparison of descriptors with the kernels' headers.
package columnartest
