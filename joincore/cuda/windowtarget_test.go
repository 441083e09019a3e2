package cuda

import "testing"

func TestWindowTarget(t *testing.T) {
	const m = 1 << 20
	for _, c := range []struct {
		name               string
		rows, build, width int64
		want               int64
	}{
		{"small build side", 1024 * m, m, 16, 16 * m},
		{"one device", 256 * m, 256 * m, 16, 64 * m},
		{"one device, long probe side", 2048 * m, 256 * m, 16, 64 * m},
		{"one of two devices", 128 * m, 256 * m, 16, 32 * m},
		{"one of eight: wide rows", 32 * m, 256 * m, 64, 16 * m},
		{"one of two, narrow rows", 128 * m, 256 * m, 4, 64 * m},
		{"no columns", 128 * m, 256 * m, 0, 64 * m},
		{"no build side: rows are grouped", 256 * m, 0, 16, 16 * m},
	} {
		if got := windowTarget(c.rows, c.build, c.width); got != c.want {
			t.Errorf("%s: %d M rows, not %d M", c.name, got/m, c.want/m)
		}
	}
}
