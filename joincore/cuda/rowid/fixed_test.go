package rowid

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"gpujoin/joincore/program"
)

// Numbers of fixed.h are those of Go.
func TestFixedNumbersAreThoseOfTheKernels(t *testing.T) {
	text, err := os.ReadFile("../kernels/layout/fixed.h")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{
		"GJ_FIXED_FILTER": fixedFilter, "GJ_FIXED_LENGTH": fixedLength, "GJ_FIXED_BEGIN": fixedBegin, "GJ_FIXED_MODE": fixedMode,
		"GJ_FIXED_NO_KEYS": fixedNoKeys, "GJ_FIXED_SLOTS": fixedSlots, "GJ_FIXED_KEY_WORDS": fixedKeyWords,
		"GJ_COLUMN_WIDTH": fixedWidth, "GJ_COLUMN_POSITIONS": fixedPositions, "GJ_COLUMN_VALIDITY": fixedValidity,
	}
	for _, m := range regexp.MustCompile(`#define (\w+) (\w+)`).FindAllStringSubmatch(string(text), -1) {
		v, err := strconv.ParseInt(m[2], 0, 64)
		if w, ok := want[m[1]]; err != nil || !ok || v != w {
			t.Errorf("%s is %s, in Go %d", m[1], m[2], w)
		}
		delete(want, m[1])
	}
	if len(want) > 0 {
		t.Errorf("fixed.h lacks %v", want)
	}
}

// A kernel serves launches that differ in addresses and rows alone.
func TestLaunchesOfOneKernel(t *testing.T) {
	p := &program.Program{Code: []program.Instruction{1, 2}}
	key := func(change func(*aggregateDescriptor, *ColumnDescriptor)) string {
		job := aggregateDescriptor{Filter: 1, Rows: 5, First: 3}
		job.Program = programDescriptor{Length: 2, Columns: 77, Constants: 88, Slots: 1}
		column := ColumnDescriptor{Values: 1000, Width: 4}
		change(&job, &column)
		return fixedKey("kernel", fixedOf(&job, p, []ColumnDescriptor{column}, 1))
	}
	first := key(func(*aggregateDescriptor, *ColumnDescriptor) {})
	if key(func(j *aggregateDescriptor, c *ColumnDescriptor) { j.Rows, j.Program.Constants, c.Values = 9, 99, 2000 }) != first {
		t.Error("addresses and rows make another kernel")
	}
	for name, change := range map[string]func(*aggregateDescriptor, *ColumnDescriptor){
		"filter": func(j *aggregateDescriptor, _ *ColumnDescriptor) { j.Filter = 0 }, "mode": func(j *aggregateDescriptor, _ *ColumnDescriptor) { j.Mode = groupGather },
		"length": func(j *aggregateDescriptor, _ *ColumnDescriptor) { j.Program.Length = 1 }, "begin": func(j *aggregateDescriptor, _ *ColumnDescriptor) { j.Begin = 1 },
		"keys": func(j *aggregateDescriptor, _ *ColumnDescriptor) { j.NoKeys = 1 }, "slots": func(j *aggregateDescriptor, _ *ColumnDescriptor) { j.Program.Slots = 2 },
		"width": func(_ *aggregateDescriptor, c *ColumnDescriptor) { c.Width = 8 }, "NULLs": func(_ *aggregateDescriptor, c *ColumnDescriptor) { c.Validity = 1 },
		"positions": func(_ *aggregateDescriptor, c *ColumnDescriptor) { c.Positions = 1 },
	} {
		if key(change) == first {
			t.Errorf("%s: the same kernel", name)
		}
	}
}
