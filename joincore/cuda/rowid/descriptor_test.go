package rowid

import (
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"gpujoin/joincore/program"
)

// Every structure of general.h and groups.h has the fields of its Go mirror, in order.
func TestDescriptorsAreThoseOfTheKernels(t *testing.T) {
	var text []byte
	for _, header := range []string{"general.h", "groups.h"} {
		more, err := os.ReadFile("../kernels/layout/" + header)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, more...)
	}
	mirrors := map[string]any{
		"gj_column": ColumnDescriptor{}, "gj_program": programDescriptor{}, "gj_part": PartDescriptor{}, "gj_keys": keysDescriptor{},
		"gj_keyed": keyedDescriptor{}, "gj_destination": destinationDescriptor{}, "gj_partition": partitionDescriptor{}, "gj_table": tableDescriptor{}, "gj_match": matchDescriptor{},
		"gj_cell": cellDescriptor{}, "gj_groups": groupsDescriptor{}, "gj_origin": originDescriptor{}, "gj_aggregate": aggregateDescriptor{}, "gj_result": resultDescriptor{},
	}
	for name, fields := range structures(string(text)) {
		if name == "gj_span" { // written and read by kernels only
			continue
		}
		mirror, ok := mirrors[name]
		if !ok {
			t.Errorf("%s has no mirror", name)
			continue
		}
		delete(mirrors, name)
		if want := fieldsOf(reflect.TypeOf(mirror)); !reflect.DeepEqual(fields, want) {
			t.Errorf("%s has fields %v, its mirror %v", name, fields, want)
		}
		if size := binary.Size(mirror); size > descriptorBytes {
			t.Errorf("%s has %d bytes", name, size)
		}
	}
	for name := range mirrors {
		t.Errorf("no header has %s", name)
	}
}

func TestLimitIsWhereItIsChanged(t *testing.T) {
	for name, offset := range map[string]uintptr{"Limit": limitOffset, "Probes": limitOffset + 8} {
		if f, ok := reflect.TypeOf(groupsDescriptor{}).FieldByName(name); !ok || f.Offset != offset {
			t.Errorf("%s has offset %d", name, f.Offset)
		}
	}
}

func TestFlagsAreThoseOfTheKernels(t *testing.T) {
	text, err := os.ReadFile("../kernels/layout/general.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"#define GJ_NONE 0xffffffffu",
		"GJ_PAIRS = 1,", "GJ_MARK_PROBE = 2,", "GJ_MARK_BUILD = 4,", "GJ_FIRST = 8",
		"GJ_CLAIMED, GJ_LIMIT, GJ_SUSPENDED, GJ_FAILED, GJ_PROGRESS }",
	} {
		if !strings.Contains(uncommented(string(text)), line) {
			t.Errorf("general.h lacks %q", line)
		}
	}
	if emitPairs != 1 || markProbe != 2 || markBuild != 4 || firstOnly != 8 {
		t.Error("flags")
	}
	if progressClaimed != 0 || progressLimit != 1 || progressSuspended != 2 || progressFailed != 3 || progressWords != 4 {
		t.Error("progress")
	}
}

// The numbers of package program are those of the kernels.
func TestGroupsAreThoseOfTheKernels(t *testing.T) {
	text, err := os.ReadFile("../kernels/layout/groups.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"enum gj_cell_kind { GJ_COUNT, GJ_SEEN, GJ_SUM, GJ_SUM_WIDE, GJ_MIN, GJ_MAX };",
		"enum gj_result_kind { GJ_KEY_OF, GJ_COUNT_OF, GJ_SUM_OF, GJ_SQUARES_OF, GJ_LEAST_OF, GJ_ROW_OF };",
		"#define GJ_ALONE 0xffffffffffffffffull",
		"enum gj_mode { GJ_DIRECTLY, GJ_SCATTER, GJ_GATHER };", fmt.Sprintf("#define GJ_COUNTS_APART %d", countsApart),
	} {
		if !strings.Contains(uncommented(string(text)), line) {
			t.Errorf("groups.h lacks %q", line)
		}
	}
	cells := []program.CellKind{program.Count, program.Seen, program.Sum, program.SumWide, program.Min, program.Max}
	results := []program.SourceKind{program.KeyOf, program.CountOf, program.SumOf, program.SquaresOf, program.LeastOf, program.RowOf}
	for i := range cells {
		if int(cells[i]) != i || int(results[i]) != i {
			t.Errorf("number %d: cell %d, result %d", i, cells[i], results[i])
		}
	}
	if groupDirectly != 0 || groupScatter != 1 || groupGather != 2 {
		t.Error("modes")
	}
	if program.Alone != ^uint64(0) {
		t.Error("the mark of a key that is alone")
	}
}

func TestPartitionsStartWhereTheKernelsSay(t *testing.T) {
	text, err := os.ReadFile("../kernels/agent/offsets.cuh")
	if err != nil {
		t.Fatal(err)
	}
	if line := fmt.Sprintf("constexpr uint32_t final_align = %d, first_align = %d;", finalAlign, firstAlign); !strings.Contains(string(text), line) {
		t.Errorf("offsets.cuh lacks %q", line)
	}
}

var (
	comment   = regexp.MustCompile(`//[^\n]*`)
	structure = regexp.MustCompile(`typedef struct \{([^}]*)\} (\w+);`)
	field     = regexp.MustCompile(`(\w+) (\w+)(\[2\])?;`)
)

// uncommented returns C text without comments, its white space made single.
func uncommented(text string) string {
	return strings.Join(strings.Fields(comment.ReplaceAllString(text, "")), " ")
}

// structures returns the fields of each structure as names with their types.
func structures(text string) map[string][]string {
	out := map[string][]string{}
	for _, m := range structure.FindAllStringSubmatch(uncommented(text), -1) {
		for _, f := range field.FindAllStringSubmatch(m[1], -1) {
			out[m[2]] = append(out[m[2]], strings.ReplaceAll(f[2], "_", "")+" "+f[3]+f[1])
		}
	}
	return out
}

// fieldsOf writes a mirror's fields in the same form.
func fieldsOf(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		kind, array := f.Type, ""
		if kind.Kind() == reflect.Array {
			kind, array = kind.Elem(), "[2]"
		}
		name := "uint64_t"
		if kind.Kind() == reflect.Struct {
			name = "gj_" + strings.ToLower(strings.TrimSuffix(kind.Name(), "Descriptor"))
		}
		out = append(out, strings.ToLower(f.Name)+" "+array+name)
	}
	return out
}
