package shm

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"
)

// mirrors maps the structs of layout.h to their Go mirrors.
var mirrors = map[string]any{
	"gj_frame": Frame{}, "gj_hello": Hello{}, "gj_open": Open{}, "gj_attach": Attach{}, "gj_want": Want{},
	"gj_filled": Filled{}, "gj_chain_filled": ChainFilled{}, "gj_fed": Fed{}, "gj_run": Run{}, "gj_next": Next{},
	"gj_release": Release{}, "gj_chain_get": ChainGet{}, "gj_returned": Returned{}, "gj_welcome": Welcome{},
	"gj_admitted": Admitted{}, "gj_failed": Failed{}, "gj_grant": Grant{}, "gj_result": Result{},
	"gj_chain_extent": ChainExtent{}, "gj_stats": Stats{}, "gj_join_stats": JoinStats{},
	"gj_phase_stats": PhaseStats{}, "gj_aggregate_stats": AggregateStats{}, "gj_participant_stats": ParticipantStats{},
	"gj_filter_stats": FilterStats{}, "gj_filter_header": FilterHeader{}, "gj_input_fed": InputFed{}, "gj_filter_get": FilterGet{},
	"gj_filtered": Filtered{}, "gj_filter": Filter{}, "gj_column": Column{}, "gj_batch": Batch{},
	"gj_chain_ref": ChainRef{}, "gj_chain_header": ChainHeader{}, "gj_load": Load{}, "gj_status": Status{},
	"gj_pages": Pages{}, "gj_group": Group{}, "gj_kept_get": KeptGet{}, "gj_kept": Kept{}, "gj_kept_leaf": KeptLeaf{}, "gj_blocks_get": BlocksGet{},
	"gj_blocks": Blocks{}, "gj_proved": Proved{}, "gj_captured": Captured{}, "gj_captured_block": CapturedBlock{},
	"gj_kept_header": KeptHeader{}, "gj_kept_column": KeptColumn{},
	"gj_forget": Forget{}, "gj_forgotten": Forgotten{}, "gj_source_get": SourceGet{}, "gj_source": Source{},
}

// constants are the values of the macros and enumerators of layout.h.
var constants = map[string]int64{
	"GJ_PROTOCOL_VERSION": ProtocolVersion, "GJ_LAYOUT_VERSION": LayoutVersion,
	"GJ_EXTENT_MIN_SIZE": ExtentMinSize, "GJ_EXTENT_MAX_SIZE": ExtentMaxSize,
	"GJ_BATCH_MAGIC": BatchMagic, "GJ_CHAIN_MAGIC": ChainMagic, "GJ_MAX_COLUMNS": MaxColumns,
	"GJ_MAX_INPUTS": MaxInputs, "GJ_CHAIN_REF_BYTE": ChainRefByte, "GJ_CHAIN_REF_TAG": ChainRefTag,
	"GJ_CHAIN_DATA_OFF": ChainDataOff, "GJ_FRAME_MAGIC": FrameMagic, "GJ_FRAME_MAX": FrameMax,
	"GJ_FRAME_MAX_FDS": FrameMaxFDs, "GJ_TOKEN_SIZE": TokenSize, "GJ_OPEN_REWIND": OpenRewind, "GJ_WHOLE_SHARE": WholeShare,
	"GJ_MAX_PHASES": MaxPhases, "GJ_MAX_PARTICIPANTS": MaxParticipants,
	"GJ_STATUS_MAGIC": StatusMagic, "GJ_RATE_POINTS": RatePoints, "GJ_GROUP_POINTS": GroupPoints,
	"GJ_BEAT_MS": BeatMS, "GJ_LOAD_READS": LoadReads,
	"GJ_FILTER_MAGIC": FilterMagic, "GJ_FILTER_DATA_OFF": FilterDataOff, "GJ_MAX_FILTERS": MaxFilters,
	"GJ_HASH_1": signedBits(hash1), "GJ_HASH_2": signedBits(hash2),
	"GJ_MAX_INPUT_FILTERS": MaxInputFilters, "GJ_BLOOM_BITS": BloomBits,
	"GJ_FILTER_NONE": int64(FilterNone), "GJ_FILTER_BITMAP": int64(FilterBitmap), "GJ_FILTER_BLOOM": int64(FilterBloom),
	"GJ_FILTER_BLOOM_BYTES": int64(FilterBloomBytes),
	"GJ_ENC_FIXED":          int64(EncFixed), "GJ_ENC_VARLENA": int64(EncVarlena),
	"GJ_HELLO": int64(MsgHello), "GJ_OPEN": int64(MsgOpen), "GJ_ATTACH": int64(MsgAttach), "GJ_WANT": int64(MsgWant),
	"GJ_FILLED": int64(MsgFilled), "GJ_CHAIN_FILLED": int64(MsgChainFilled), "GJ_FED": int64(MsgFed),
	"GJ_RUN": int64(MsgRun), "GJ_NEXT": int64(MsgNext), "GJ_RELEASE": int64(MsgRelease),
	"GJ_CHAIN_GET": int64(MsgChainGet), "GJ_RETURNED": int64(MsgReturned), "GJ_STATS_GET": int64(MsgStatsGet),
	"GJ_STATUS_GET": int64(MsgStatusGet), "GJ_WELCOME": int64(MsgWelcome), "GJ_ADMITTED": int64(MsgAdmitted),
	"GJ_FAILED": int64(MsgFailed), "GJ_GRANT": int64(MsgGrant), "GJ_FED_OK": int64(MsgFedOK),
	"GJ_RUNNING": int64(MsgRunning), "GJ_RESULT": int64(MsgResult), "GJ_END": int64(MsgEnd),
	"GJ_CHAIN_EXTENT": int64(MsgChainExtent), "GJ_STATS": int64(MsgStats), "GJ_STATUS": int64(MsgStatus),
	"GJ_INPUT_FED": int64(MsgInputFed), "GJ_FILTER_GET": int64(MsgFilterGet), "GJ_FILTERED": int64(MsgFiltered),
	"GJ_FILTER": int64(MsgFilter), "GJ_PAGES": int64(MsgPages), "GJ_KEPT_GET": int64(MsgKeptGet),
	"GJ_BLOCKS_GET": int64(MsgBlocksGet), "GJ_PROVED": int64(MsgProved), "GJ_CAPTURED": int64(MsgCaptured),
	"GJ_KEPT": int64(MsgKept), "GJ_BLOCKS": int64(MsgBlocks), "GJ_FORGET": int64(MsgForget), "GJ_FORGOTTEN": int64(MsgForgotten),
	"GJ_SOURCE_GET": int64(MsgSourceGet), "GJ_STATUS_RESET": int64(MsgStatusReset), "GJ_SOURCE": int64(MsgSource),
	"GJ_SOURCE_PIN": int64(SourcePin), "GJ_SOURCE_UNPIN": int64(SourceUnpin), "GJ_SOURCE_MIRROR": int64(SourceMirror),
	"GJ_SOURCE_UNMIRROR": int64(SourceUnmirror), "GJ_SOURCE_IMPORT": int64(SourceImport), "GJ_SOURCE_MIRRORS": int64(SourceMirrors),
	"GJ_SOURCE_SIZE": int64(SourceSize), "GJ_SOURCE_CHECK": int64(SourceCheck), "GJ_SOURCE_CLOSE": int64(SourceClose),
	"GJ_KEPT_MAGIC": KeptMagic, "GJ_KEPT_COLUMNS": KeptColumns, "GJ_WHOLE_TABLE": WholeTable,
	"GJ_GROUP_BLOCKS": GroupBlocks, "GJ_GROUP_BITMAP": GroupBitmap, "GJ_MAX_GROUPS": MaxGroups, "GJ_MAX_EARLY_PAGES": MaxEarlyPages,
	"GJ_PAGES_ALWAYS": PagesAlways, "GJ_PAGES_MORE": PagesMore, "GJ_MAX_INPUT_GROUPS": MaxInputGroups,
	"GJ_FEED_PLAIN": int64(FeedPlain), "GJ_FEED_KEPT": int64(FeedKept),
	"GJ_GROUP_FED": int64(GroupFed), "GJ_GROUP_KEPT": int64(GroupKept), "GJ_GROUP_MIXED": int64(GroupMixed),
	"GJ_FAIL_PROTOCOL": int64(FailProtocol), "GJ_FAIL_VERSION": int64(FailVersion),
	"GJ_FAIL_UNSUPPORTED": int64(FailUnsupported), "GJ_FAIL_BUSY": int64(FailBusy), "GJ_FAIL_BUDGET": int64(FailBudget),
	"GJ_FAIL_PROVIDER": int64(FailProvider), "GJ_FAIL_STOPPING": int64(FailStopping), "GJ_FAIL_INTERNAL": int64(FailInternal),
	"GJ_FAIL_ARITHMETIC": int64(FailArithmetic), "GJ_FAIL_SHARE": int64(FailShare), "GJ_FAIL_RESOURCES": int64(FailResources),
	"GJ_FAIL_SOURCE": int64(FailSource),
}

// signedBits returns a number as debug information has it.
func signedBits(n uint64) int64 { return int64(n) }

// headers returns the text of layout.h and its parts without comments.
func headers(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*.h")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v: %v", files, err)
	}
	all := ""
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all += string(b)
	}
	return regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(all, "")
}

// compiled returns the compiler's debug information on all declarations of layout.h
// and its parts. It fails if layout.h does not include one of them.
func compiled(t *testing.T) *dwarf.Data {
	t.Helper()
	h := headers(t)
	source := "#include \"layout.h\"\n"
	for i, m := range regexp.MustCompile(`(?m)^(struct|enum)\s+(gj_\w+)\s*$`).FindAllStringSubmatch(h, -1) {
		source += fmt.Sprintf("%s %s v%d;\n", m[1], m[2], i)
	}
	source += "enum {\n"
	for _, m := range regexp.MustCompile(`(?m)^#define\s+(GJ_\w+)\s+\S`).FindAllStringSubmatch(h, -1) {
		source += fmt.Sprintf("\tmacro_%s = %s,\n", m[1], m[1])
	}
	source += "} macros;\n"
	f, err := elf.Open(compile(t, source))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// compile compiles C source and returns the name of the object file.
func compile(t *testing.T, source string) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Fatalf("the layout is checked with gcc: %v", err)
	}
	dir := t.TempDir()
	file, object := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout.o")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(gcc, "-g", "-gdwarf-4", "-Wall", "-Wextra", "-Werror", "-c", "-I.", "-o", object, file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return object
}

// TestHeaders: each header can be included alone, and twice.
func TestHeaders(t *testing.T) {
	files, err := filepath.Glob("*.h")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, f := range files {
		compile(t, fmt.Sprintf("#include %q\n#include %q\nextern int declared;\n", f, f))
	}
}

func TestMirror(t *testing.T) {
	d := compiled(t)
	structs, numbers := map[string]bool{}, map[string]bool{}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			break
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		switch e.Tag {
		case dwarf.TagStructType:
			typ, err := d.Type(e.Offset)
			if err != nil {
				t.Fatal(err)
			}
			structs[name] = true
			compareStruct(t, typ.(*dwarf.StructType))
		case dwarf.TagEnumerator:
			name = regexp.MustCompile(`^macro_`).ReplaceAllString(name, "")
			numbers[name] = true
			want, ok := constants[name]
			if got, _ := e.Val(dwarf.AttrConstValue).(int64); !ok || got != want {
				t.Errorf("%s is %d in layout.h, %d here (known: %v)", name, got, want, ok)
			}
		}
	}
	for name := range mirrors {
		if !structs[name] {
			t.Errorf("layout.h has no struct %s", name)
		}
	}
	for name := range constants {
		if !numbers[name] {
			t.Errorf("layout.h has no %s", name)
		}
	}
}

// compareStruct compares the fields of a C struct with the Go mirror, in order: name,
// offset, size, signedness.
func compareStruct(t *testing.T, c *dwarf.StructType) {
	v, ok := mirrors[c.StructName]
	if !ok {
		t.Errorf("struct %s has no mirror", c.StructName)
		return
	}
	g := reflect.TypeOf(v)
	if int64(g.Size()) != c.ByteSize || g.NumField() != len(c.Field) {
		t.Errorf("%s: %d bytes in %d fields, %s: %d bytes in %d fields",
			c.StructName, c.ByteSize, len(c.Field), g, g.Size(), g.NumField())
		return
	}
	end := int64(0)
	for i, cf := range c.Field {
		gf := g.Field(i)
		if gf.Tag.Get("c") != cf.Name || int64(gf.Offset) != cf.ByteOffset || int64(gf.Type.Size()) != cf.Type.Size() {
			t.Errorf("%s.%s at %d, %d bytes; %s.%s (%s) at %d, %d bytes", c.StructName, cf.Name, cf.ByteOffset,
				cf.Type.Size(), g, gf.Name, gf.Tag.Get("c"), gf.Offset, gf.Type.Size())
		}
		if cf.ByteOffset != end {
			t.Errorf("%s has a hole before %s", c.StructName, cf.Name)
		}
		end = cf.ByteOffset + cf.Type.Size()
		if cs, gs := signed(cf.Type.String()), goSigned(gf.Type); cs != gs {
			t.Errorf("%s.%s is %s, %s.%s is %s", c.StructName, cf.Name, cf.Type, g, gf.Name, gf.Type)
		}
	}
	if end != c.ByteSize {
		t.Errorf("%s has a hole at its end", c.StructName)
	}
}

func signed(c string) bool {
	return regexp.MustCompile(`^(\[\d+\])?(int|double|signed)`).MatchString(c)
}

func goSigned(t reflect.Type) bool {
	if t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64 || t.Kind() == reflect.Float64
}
