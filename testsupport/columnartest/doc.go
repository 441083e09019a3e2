// Package check has what the tests of joins over columns in device memory
// share: a comparison of results with a reference on the host, which needs a GPU
// (go test -c -tags cuda), and one of descriptors with the kernels' headers.
package columnartest
