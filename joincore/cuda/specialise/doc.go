// Package specialise turns a kernel that interprets programs into a kernel that does
// what one program says. It evaluates those parts of the kernel's PTX that depend on the
// program alone: fetching and decoding instructions, choosing an operation, a width or a
// place. What is left is the work on rows, one piece for each instruction. A program so
// means the same in both kernels, which have the same source.
//
// This is partial evaluation of an interpreter with a fixed program (Futamura, 1971) by
// polyvariant specialisation of basic blocks: a block is copied once for each set of
// values that its registers are known to have.
//
// The kernel asks for what is fixed by pseudo-instructions (kernels/block/fixed.cuh):
//
//	gj.code d, at;     // the instruction at `at`
//	gj.column d, i;    // what is fixed of a column
//	gj.fixed d, n;     // a number of the launch
//	gj.keep d, s;      // s, which must be known: how the interpreter advances
//
// Registers with one definition are known if an instruction that can be evaluated makes
// them of known ones. Those with several are known only if all definitions copy results
// of these pseudo-instructions: any other value that depends on the path might differ
// between threads of a warp, which would then never execute the same copy of a block
// again.
package specialise
