#include "textflag.h"

// The lower halves are added as they are. The upper ones are signed: 2^31 is added to each, which
// flips the highest bit, and taken off the sum.
#define ADD4(offset, LOWER, UPPER) \
	VMOVDQU offset(SI), Y6 \
	VPAND   Y5, Y6, Y7     \
	VPXOR   Y4, Y6, Y6     \
	VPADDQ  Y7, LOWER, LOWER \
	VPSRLQ  $32, Y6, Y6    \
	VPADDQ  Y6, UPPER, UPPER

// Adds up the four words of a vector.
#define TOTAL(V, X, TO) \
	VEXTRACTI128 $1, V, X6 \
	VPADDQ       X6, X, X  \
	VPSHUFD      $0x4e, X, X6 \
	VPADDQ       X6, X, X  \
	VMOVQ        X, TO

// func sumHalves(x *uint64, blocks int) (lower, upper int64)
TEXT ·sumHalves(SB), NOSPLIT, $0-32
	MOVQ     x+0(FP), SI
	MOVQ     blocks+8(FP), CX
	MOVQ     CX, DX
	VPCMPEQD Y5, Y5, Y5
	VPSLLQ   $63, Y5, Y4 // the highest bits
	VPSRLQ   $32, Y5, Y5 // the lower halves
	VPXOR    Y0, Y0, Y0
	VPXOR    Y1, Y1, Y1
	VPXOR    Y2, Y2, Y2
	VPXOR    Y3, Y3, Y3

block:
	ADD4(0, Y0, Y2)
	ADD4(32, Y1, Y3)
	ADD4(64, Y0, Y2)
	ADD4(96, Y1, Y3)
	ADDQ   $128, SI
	DECQ   CX
	JNZ    block
	VPADDQ Y1, Y0, Y0
	VPADDQ Y3, Y2, Y2
	TOTAL(Y0, X0, AX)
	TOTAL(Y2, X2, BX)
	SHLQ   $35, DX // 16 values each 2^31 too much
	SUBQ   DX, BX
	VZEROUPPER
	MOVQ   AX, lower+16(FP)
	MOVQ   BX, upper+24(FP)
	RET
