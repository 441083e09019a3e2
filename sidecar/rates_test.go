package sidecar

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"gpujoin/joincore/cpu"
)

// TestRatesNeedMemory measures nothing where there is not enough memory for
// the smallest join, and starts all the same.
func TestRatesNeedMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rates")
	rates, err := Rates(cpu.New(), path, true, 8<<20, slog.New(slog.DiscardHandler))
	if err != nil || rates != typicalRates {
		t.Errorf("%+v, %v", rates, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("typical rates were saved as measured ones")
	}
}
