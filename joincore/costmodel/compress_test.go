package costmodel

import "testing"

// Rows are compressed for slow links, if there are enough of them, and take never longer for it.
func TestSend(t *testing.T) {
	r := &DefaultDeviceRates
	for _, c := range []struct {
		link, bytes float64
		want        float64 // of the time of the bytes as they are
	}{{390, 1 << 30, 1}, {50, 1 << 30, 0.71}, {11, 1 << 30, 0.55}, {11, LeastCompressed - 1, 1}, {11, 0, 1}} {
		ms, plain := r.SendMS(c.bytes, c.link), c.bytes/c.link/perMS
		if ms > plain || ms < (c.want-0.02)*plain || ms > (c.want+0.02)*plain {
			t.Errorf("%.0f bytes over %.0f GB/s: %.2f ms, %.2f as they are", c.bytes, c.link, ms, plain)
		}
	}
	if CompressionPays(200, 200, 1, 400, 400) || CompressionPays(200, 100, 397, 400, 400) || !CompressionPays(200, 100, 23, 200, 200) {
		t.Error("rows that do not shrink, or a link as fast as compression")
	}
}
