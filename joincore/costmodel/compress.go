package costmodel

// Rows that devices send each other are compressed, by kernels at both ends, where links are slow enough.

const (
	// CompressedPart is the part of their bytes that rows are expected to have in compressed form before
	// some have been compressed.
	CompressedPart = 0.5
	// LeastCompressed is how many bytes a device sends to others, at least, if rows are compressed where
	// that pays: for each range, the host waits until sizes are known.
	LeastCompressed = 16 << 20
	// compressedOf is the part of the rate of a device's memory at which it compresses rows, and expands
	// them. Two H200 exchanged 1.2 GB over links of 377 GB/s in 3.26 ms, and 0.7 GB in compressed form in
	// 5.13 (-only pack of bench-multi): 480 GB/s for each step.
	compressedOf = 0.12
)

// CompressGB returns the rate, in GB/s of raw bytes, at which a device compresses rows, or expands them.
func (r *DeviceRates) CompressGB() float64 { return compressedOf * r.ReadGB }

// CompressionPays reports whether compression saves time: the bytes saved on a link against the time to
// compress at the source and to expand at the destination. All rates are in GB/s of raw bytes.
func CompressionPays(raw, wire, link, pack, unpack float64) bool {
	return (raw-wire)/link > raw/pack+raw/unpack
}

// SendMS returns the ms in which a device sends bytes of rows to others while it receives as many, over a
// link of a rate in GB/s: compressed if that is expected to pay.
func (r *DeviceRates) SendMS(bytes, link float64) float64 {
	ms, gb := bytes/link/perMS, r.CompressGB()
	if bytes >= LeastCompressed && CompressionPays(bytes, CompressedPart*bytes, link, gb, gb) {
		ms = CompressedPart*ms + 2*bytes/gb/perMS
	}
	return ms
}
