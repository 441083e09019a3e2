package phj

import (
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gpujoin/testsupport/columnartest"
)

func header(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../kernels/layout/join.h")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`//.*`).ReplaceAllString(string(text), "")
}

// fieldsOf returns the names of a struct's fields in the header.
func fieldsOf(t *testing.T, text, name string) (names []string) {
	t.Helper()
	body := regexp.MustCompile(`typedef struct \{([^}]*)\} ` + name + `;`).FindStringSubmatch(text)
	if body == nil {
		t.Fatalf("the header has no %s", name)
	}
	for _, statement := range strings.Split(body[1], ";") {
		for i, declared := range strings.Split(statement, ",") {
			words := strings.Fields(declared)
			if len(words) == 0 {
				continue
			}
			if i == 0 && words[0] != "uint64_t" && words[0] != "gj_side" {
				return nil // arrays of another element type: only sizes are compared
			}
			field, _, _ := strings.Cut(words[len(words)-1], "[")
			names = append(names, strings.ReplaceAll(field, "_", ""))
		}
	}
	return names
}

func TestDescriptorIsTheHeaders(t *testing.T) {
	text := header(t)
	for name, c := range map[string]struct {
		mirror reflect.Type
		bytes  uintptr
	}{
		"gj_field":  {reflect.TypeFor[field](), fieldBytes},
		"gj_packed": {reflect.TypeFor[packedField](), valueBytes},
		"gj_side":   {reflect.TypeFor[sideDescriptor](), sideBytes},
		"gj_join":   {reflect.TypeFor[joinDescriptor](), joinBytes},
	} {
		var ours []string
		for i := range c.mirror.NumField() {
			ours = append(ours, strings.ToLower(c.mirror.Field(i).Name))
		}
		if theirs := fieldsOf(t, text, name); !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s has %v, its mirror %v", name, theirs, ours)
		}
		if c.mirror.Size() != c.bytes {
			t.Errorf("%s has %d bytes, not %d", name, c.mirror.Size(), c.bytes)
		}
	}
}

func TestSendDescriptorIsTheHeaders(t *testing.T) {
	columnartest.Layout(t, "../../kernels/layout/send.h", "gj_send", sendDescriptor{})
	if size := reflect.TypeFor[sendDescriptor]().Size(); size != sendBytes {
		t.Errorf("gj_send has %d bytes, not %d", size, sendBytes)
	}
}

func TestNumbersAreTheHeaders(t *testing.T) {
	text := header(t)
	got := map[string]int{}
	for _, body := range regexp.MustCompile(`enum \w+ \{([^}]*)\}`).FindAllStringSubmatch(text, -1) {
		next := 0
		for _, item := range strings.Split(body[1], ",") {
			name, value, given := strings.Cut(strings.TrimSpace(item), "=")
			if given {
				n, err := strconv.Atoi(strings.TrimSpace(value))
				if err != nil {
					t.Fatal(err)
				}
				next = n
			}
			got[strings.TrimSpace(name)] = next
			next++
		}
	}
	for _, d := range regexp.MustCompile(`(?m)^#define (GJ_\w+) (\d+)`).FindAllStringSubmatch(text, -1) {
		got[d[1]], _ = strconv.Atoi(d[2])
	}
	for name, want := range map[string]int{
		"GJ_MAX_COLUMNS": maxColumns, "GJ_LANE_BYTES": stripeBytes, "GJ_OUTPUT_ROWS": counterOutputRows, "GJ_BYPASSED": counterBypassed, "GJ_KEPT": counterKept, "GJ_COUNTERS": counters,
		"GJ_SAMPLED": sampled, "GJ_SAMPLED_MATCHED": sampledMatched, "GJ_SAMPLED_HOT": sampledHot, "GJ_HOT": hotKeys,
		"GJ_SUMMARY": summaryWords, "GJ_SAMPLE_SLOTS": sampleSlots, "GJ_HOT_KEYS": maxHotKeys,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %d in the header, %d here", name, value, want)
		}
	}
	body := regexp.MustCompile(`typedef struct \{([^}]*)\} gj_sample;`).FindStringSubmatch(text)
	bytes := 0
	for _, array := range regexp.MustCompile(`uint(\d+)_t \w+\[(\w+)\]`).FindAllStringSubmatch(body[1], -1) {
		width, err := strconv.Atoi(array[1])
		if err != nil {
			t.Fatal(err)
		}
		bytes += width / 8 * got[array[2]]
	}
	if bytes != sampleBytes {
		t.Errorf("gj_sample has %d bytes in the header, %d here", bytes, sampleBytes)
	}
}
