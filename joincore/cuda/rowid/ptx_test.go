package rowid

import (
	"errors"
	"strings"
	"testing"
)

// ptxInterpreter is a machine of one register, as nvcc would write it: 0 n adds n, 1 n
// multiplies by n, 2 n jumps to n unless the register is 0, 3 doubles by a function.
const ptxInterpreter = `.version 8.0
.target sm_90
.address_size 64
.func (.param .b32 func_retval0) twice(.param .b32 twice_param_0)
;
.func (.param .b32 func_retval0) unused(.param .b32 unused_param_0)
;
.visible .const .align 8 .b8 run_launch[40] = {1};

.visible .entry run(
	.param .u64 run_param_0
)
.maxntid 32, 1, 1
{
	.reg .pred 	%p<9>;
	.reg .b32 	%r<20>;
	.reg .b64 	%rd<9>;

	ld.param.u64 	%rd1, [run_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	ld.global.u32 	%r1, [%rd2];
	mov.u32 	%r2, 0;
	// begin inline asm
	// gj.fixed %r3, 0;
	// end inline asm
	// begin inline asm
	// gj.keep %r4, %r2, first;
	// end inline asm
	mov.u32 	%r5, %r4;
	mov.u32 	%r10, %r1;

$L__BB0_1:
	setp.ge.u32 	%p1, %r5, %r3;
	@%p1 bra 	$L__BB0_9;

	// begin inline asm
	// gj.code %rd3, %r5;
	// end inline asm
	cvt.u32.u64 	%r6, %rd3;
	and.b32  	%r7, %r6, 255;
	shr.u32 	%r8, %r6, 8;
	setp.gt.s32 	%p2, %r7, 1;
	@%p2 bra 	$L__BB0_4;

	setp.eq.s32 	%p3, %r7, 0;
	@%p3 bra 	$L__BB0_3;
	bra.uni 	$L__BB0_2;

$L__BB0_2:
	mul.lo.s32 	%r10, %r10, %r8;
	bra.uni 	$L__BB0_8;

$L__BB0_3:
	add.s32 	%r10, %r10, %r8;
	bra.uni 	$L__BB0_8;

$L__BB0_4:
	setp.eq.s32 	%p4, %r7, 3;
	@%p4 bra 	$L__BB0_7;
	setp.ne.s32 	%p5, %r10, 0;
	@!%p5 bra 	$L__BB0_8;

	// begin inline asm
	// gj.keep %r11, %r8, target;
	// end inline asm
	mov.u32 	%r5, %r11;
	bra.uni 	$L__BB0_1;

$L__BB0_7:
	{ // callseq 0, 0
	.param .b32 param0;
	st.param.b32 	[param0+0], %r10;
	.param .b32 retval0;
	call.uni (retval0), 
	twice, 
	(
	param0
	);
	ld.param.b32 	%r10, [retval0+0];
	} // callseq 0

$L__BB0_8:
	add.s32 	%r12, %r5, 1;
	// begin inline asm
	// gj.keep %r13, %r12, next;
	// end inline asm
	mov.u32 	%r5, %r13;
	bra.uni 	$L__BB0_1;

$L__BB0_9:
	st.global.u32 	[%rd2], %r10;
	ret;

}
.func (.param .b32 func_retval0) twice(
	.param .b32 twice_param_0
)
{
	.reg .b32 	%r<3>;
	ld.param.u32 	%r1, [twice_param_0];
	add.s32 	%r2, %r1, %r1;
	st.param.b32 	[func_retval0+0], %r2;
	ret;
}
.func (.param .b32 func_retval0) unused(
	.param .b32 unused_param_0
)
{
	ret;
}
`

// ptxKernelOf specialises the interpreter, and returns its instructions without labels and
// jumps to the next one.
func ptxKernelOf(t *testing.T, code ...uint64) (text string, body []string) {
	t.Helper()
	text, err := SpecialiseText(ptxInterpreter, "run", &Fixed{Code: code, Numbers: []uint64{uint64(len(code))}})
	if err != nil {
		t.Fatal(err)
	}
	_, inner, _ := strings.Cut(text[strings.Index(text, ".entry"):], "{")
	for _, line := range strings.Split(inner, "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" && line != "}" && !strings.HasPrefix(line, ".reg") {
			body = append(body, line)
		}
	}
	return text, body
}

// ptxWork returns the instructions that change the register.
func ptxWork(body []string) string {
	var out []string
	for _, line := range body {
		if strings.Contains(line, "%r10, %r10") || strings.HasPrefix(line, "mov.u32 %r8") || strings.Contains(line, "twice") {
			out = append(out, line)
		}
	}
	return strings.Join(out, " ")
}

// A program without jumps becomes its operations in their order; nothing is decoded.
func TestInstructionsFollowOneAnother(t *testing.T) {
	text, body := ptxKernelOf(t, 5<<8, 1|3<<8, 7<<8)
	if got, want := ptxWork(body), "mov.u32 %r8, 0x5; add.s32 %r10, %r10, %r8; mov.u32 %r8, 0x3; mul.lo.s32 %r10, %r10, %r8; mov.u32 %r8, 0x7; add.s32 %r10, %r10, %r8;"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, gone := range []string{"gj.", "@", "twice", "unused", "shr", "setp"} {
		if strings.Contains(strings.Join(body, " "), gone) {
			t.Errorf("%q is left in\n%s", gone, text)
		}
	}
	for _, kept := range []string{"run_launch", ".maxntid 32", "ld.global.u32", "st.global.u32", "ret;"} {
		if !strings.Contains(text, kept) {
			t.Errorf("%q is missing in\n%s", kept, text)
		}
	}
	if strings.Contains(text, "unused(") {
		t.Error("a function that is not called is left")
	}
}

// A jump that depends on data is one, and both ways meet again where the program does.
func TestJumpsMeetAgain(t *testing.T) {
	_, body := ptxKernelOf(t, 2|2<<8, 5<<8, 7<<8) // unless 0, skips the addition of 5
	if got := strings.Count(ptxWork(body), "add.s32"); got != 2 {
		t.Errorf("%d additions in %q", got, body)
	}
	if got := strings.Count(strings.Join(body, " "), "@"); got != 1 {
		t.Errorf("%d conditional jumps in %q", got, body)
	}
}

// A loop of the program stays one.
func TestPTXLoops(t *testing.T) {
	_, body := ptxKernelOf(t, 1|3<<8, 2|0<<8)
	if got := strings.Count(ptxWork(body), "mul.lo.s32"); got != 1 {
		t.Errorf("%d multiplications in %q", got, body)
	}
}

// Functions that are called come along, with their declarations.
func TestCallees(t *testing.T) {
	text, _ := ptxKernelOf(t, 3)
	if strings.Count(text, "twice(") != 2 || strings.Contains(text, "unused") {
		t.Errorf("functions are missing or left:\n%s", text)
	}
}

// What cannot be specialised is an error.
func TestNotSpecialised(t *testing.T) {
	long := make([]uint64, mostStatements)
	for name, c := range map[string]struct {
		text, kernel string
		fixed        Fixed
	}{
		"another kernel":        {ptxInterpreter, "other", Fixed{}},
		"a device function":     {ptxInterpreter, "twice", Fixed{}},
		"a number too few":      {ptxInterpreter, "run", Fixed{}},
		"an instruction more":   {ptxInterpreter, "run", Fixed{Code: []uint64{0}, Numbers: []uint64{2}}},
		"a place from data":     {strings.Replace(ptxInterpreter, "gj.keep %r4, %r2", "gj.keep %r4, %r1", 1), "run", Fixed{Numbers: []uint64{0}}},
		"a label that is gone":  {strings.Replace(ptxInterpreter, "$L__BB0_9:", "$L__BB0_99:", 1), "run", Fixed{Numbers: []uint64{0}}},
		"an unknown definition": {strings.Replace(ptxInterpreter, "mov.u32 	%r5, %r4", "mov.u32 	%r5, %r1", 1), "run", Fixed{Numbers: []uint64{1}, Code: []uint64{0}}},
		"no end":                {ptxInterpreter[:strings.Index(ptxInterpreter, "$L__BB0_9:")], "run", Fixed{}},
	} {
		if _, err := SpecialiseText(c.text, c.kernel, &c.fixed); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := SpecialiseText(ptxInterpreter, "run", &Fixed{Code: long, Numbers: []uint64{mostStatements}}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a long program: %v", err)
	}
}

// Text that is no PTX is an error or not, but does not crash.
func FuzzSpecialise(f *testing.F) {
	f.Add(ptxInterpreter)
	for _, cut := range []int{100, 500, 900, 1500} {
		f.Add(ptxInterpreter[:cut] + "}" + ptxInterpreter[cut:])
	}
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = SpecialiseText(text, "run", &Fixed{Code: []uint64{5 << 8, 2 | 1<<8, 3}, Columns: []uint64{4}, Numbers: []uint64{3}})
	})
}

func TestEvaluatePTX(t *testing.T) {
	minus := func(n int64, bits int) uint64 { return cutTo(uint64(-n), bits) }
	for _, c := range []struct {
		op   string
		v    []uint64
		want uint64
	}{
		{"mov.u32", []uint64{1<<40 | 7}, 7}, {"add.s32", []uint64{0xffffffff, 2}, 1}, {"sub.s64", []uint64{1, 2}, minus(1, 64)},
		{"and.b32", []uint64{6, 3}, 2}, {"or.b64", []uint64{6, 3}, 7}, {"xor.b16", []uint64{6, 3}, 5}, {"not.b16", []uint64{0}, 0xffff},
		{"not.pred", []uint64{1}, 0}, {"neg.s32", []uint64{1}, 0xffffffff}, {"shl.b32", []uint64{1, 31}, 1 << 31}, {"shl.b32", []uint64{1, 32}, 0},
		{"shl.b64", []uint64{1, 64}, 0}, {"shr.u32", []uint64{0x80000000, 31}, 1}, {"shr.s32", []uint64{0x80000000, 31}, 0xffffffff},
		{"shr.s64", []uint64{1 << 63, 200}, minus(1, 64)}, {"shr.u64", []uint64{1 << 63, 64}, 0}, {"mul.lo.s32", []uint64{0x10001, 0x10000}, 0x10000},
		{"mul.wide.s32", []uint64{0xffffffff, 2}, minus(2, 64)}, {"mul.wide.u32", []uint64{0xffffffff, 2}, 0x1fffffffe},
		{"mul.wide.u16", []uint64{0xffff, 2}, 0x1fffe}, {"cvt.u64.u32", []uint64{0xffffffff}, 0xffffffff}, {"cvt.s64.s32", []uint64{0xffffffff}, minus(1, 64)},
		{"cvt.u32.u64", []uint64{1<<32 | 5}, 5}, {"cvt.u16.u32", []uint64{0x12345}, 0x2345}, {"selp.b32", []uint64{4, 5, 1}, 4}, {"selp.b32", []uint64{4, 5, 0}, 5},
		{"setp.eq.s32", []uint64{1 << 32, 0}, 1}, {"setp.lt.s32", []uint64{0xffffffff, 0}, 1}, {"setp.lt.u32", []uint64{0xffffffff, 0}, 0},
		{"setp.ge.s64", []uint64{minus(1, 64), 0}, 0}, {"setp.gt.u64", []uint64{minus(1, 64), 0}, 1}, {"setp.ne.s16", []uint64{0x10000, 0}, 0},
		{"setp.le.u32", []uint64{3, 3}, 1}, {"min.s32", []uint64{0xffffffff, 0}, 0xffffffff}, {"max.u32", []uint64{0xffffffff, 0}, 0xffffffff},
		{"popc.b32", []uint64{0xf0f}, 8},
	} {
		if got, ok := evaluatePTX(c.op, c.v); !ok || got != c.want {
			t.Errorf("%s %x: %x, %v, want %x", c.op, c.v, got, ok, c.want)
		}
	}
	for _, op := range []string{"add.cc.s64", "mul.hi.s64", "mul.wide.u64", "setp.lt.f32", "shf.l.wrap.b32", "ld.param.u64", "mov.f32", "cvt.rzi.s32.f32", "bfe.u32", "madc.hi.u32"} {
		if _, ok := evaluatePTX(op, []uint64{1, 2}); ok {
			t.Errorf("%s is evaluated", op)
		}
	}
}
