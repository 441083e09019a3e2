package costmodel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func entry(key string, read float64) SavedRates {
	e := SavedRates{Key: key, Device: "a device", At: time.Now().UTC().Truncate(time.Second), Rates: DefaultDeviceRates}
	e.Rates.ReadGB = read
	return e
}

func TestEntriesAreFoundByTheirKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rates")
	if _, ok, err := FindRates(path, "a"); ok || err != nil {
		t.Errorf("without a file: %v, %v", ok, err)
	}
	first, other, second := entry("a", 1000), entry("b", 2000), entry("a", 3000)
	for _, e := range []SavedRates{first, other, second} {
		if err := SaveRates(path, e); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []SavedRates{other, second} {
		if got, ok, err := FindRates(path, want.Key); !ok || err != nil || got != want {
			t.Errorf("%+v, %v, %v in place of %+v", got, ok, err, want)
		}
	}
	if _, ok, _ := FindRates(path, "c"); ok {
		t.Error("found an entry that was never saved")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); len(files) != 1 || err != nil {
		t.Errorf("%v are left, %v", files, err)
	}
}

// Whatever lies there: no entry that cannot be rates is believed, and saving
// puts a good file in its place.
func TestFilesAreDistrusted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rates")
	if err := SaveRates(path, entry("a", 1000)); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "{", "null garbage", `[{"key":"a"}]`,
		strings.Replace(string(good), `"read_gb": 1000`, `"read_gb": -1`, 1),
		strings.Replace(string(good), `"read_gb": 1000`, `"read_gb": 1e300`, 1),
		strings.Replace(string(good), `"read_gb": 1000`, `"read_gb": "fast"`, 1),
		strings.Repeat(" ", mostBytes) + string(good),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if e, ok, err := FindRates(path, "a"); ok || err == nil {
			t.Errorf("%.60q: %+v, %v", text, e, err)
		}
		if err := SaveRates(path, entry("b", 2000)); err != nil {
			t.Error(err)
		}
		if e, ok, err := FindRates(path, "b"); !ok || err != nil || e.Rates.ReadGB != 2000 {
			t.Errorf("after %.60q: %+v, %v, %v", text, e, ok, err)
		}
	}
}

func TestTheFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rates")
	for i := range mostEntries + 3 {
		if err := SaveRates(path, entry(fmt.Sprint(i), 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := ReadRates(path); len(list) != mostEntries || err != nil {
		t.Errorf("%d entries, %v", len(list), err)
	}
}

func TestLatestFollowsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rates")
	l := NewLatestRates(path)
	if got := l.Rates(); *got != DefaultDeviceRates {
		t.Errorf("%+v without a file", got)
	}
	for i, read := range []float64{1000, 2000} {
		e := entry("a", read)
		e.At = e.At.Add(time.Duration(i) * time.Minute)
		if err := SaveRates(path, e); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		if got := l.Rates().ReadGB; got != read {
			t.Errorf("%g in place of %g", got, read)
		}
	}
	if err := os.WriteFile(path, []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := l.Rates().ReadGB; got != 2000 {
		t.Errorf("%g of a broken file", got)
	}
}
