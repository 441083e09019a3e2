#include "textflag.h"

// A word of the result is collected in R8, from the signs of compared elements.
#define COLLECT32(shift) \
	VMOVMSKPS Y2, AX \
	SHLQ      $shift, AX \
	ORQ       AX, R8

#define COLLECT64(shift) \
	VMOVMSKPD Y2, AX \
	SHLQ      $shift, AX \
	ORQ       AX, R8

// Each word of 64 rows is 8 vectors of 32 bits or 16 of 64 bits.
#define WORD32(ROWS) \
	ROWS(0, 0)    \
	ROWS(32, 8)   \
	ROWS(64, 16)  \
	ROWS(96, 24)  \
	ROWS(128, 32) \
	ROWS(160, 40) \
	ROWS(192, 48) \
	ROWS(224, 56)

#define WORD64(ROWS) \
	ROWS(0, 0)    \
	ROWS(32, 4)   \
	ROWS(64, 8)   \
	ROWS(96, 12)  \
	ROWS(128, 16) \
	ROWS(160, 20) \
	ROWS(192, 24) \
	ROWS(224, 28) \
	ROWS(256, 32) \
	ROWS(288, 36) \
	ROWS(320, 40) \
	ROWS(352, 44) \
	ROWS(384, 48) \
	ROWS(416, 52) \
	ROWS(448, 56) \
	ROWS(480, 60)

// x - base > top, signed.
#define OUTSIDE32(offset, shift) \
	VMOVDQU  offset(SI), Y2 \
	VPSUBD   Y0, Y2, Y2     \
	VPCMPGTD Y1, Y2, Y2     \
	COLLECT32(shift)

#define OUTSIDE64(offset, shift) \
	VMOVDQU  offset(SI), Y2 \
	VPSUBQ   Y0, Y2, Y2     \
	VPCMPGTQ Y1, Y2, Y2     \
	COLLECT64(shift)

// a < b, as b > a.
#define LESS32(offset, shift) \
	VMOVDQU  offset(DX), Y2     \
	VPCMPGTD offset(SI), Y2, Y2 \
	COLLECT32(shift)

#define LESS64(offset, shift) \
	VMOVDQU  offset(DX), Y2     \
	VPCMPGTQ offset(SI), Y2, Y2 \
	COLLECT64(shift)

#define EQUAL32(offset, shift) \
	VMOVDQU  offset(DX), Y2     \
	VPCMPEQD offset(SI), Y2, Y2 \
	COLLECT32(shift)

#define EQUAL64(offset, shift) \
	VMOVDQU  offset(DX), Y2     \
	VPCMPEQQ offset(SI), Y2, Y2 \
	COLLECT64(shift)

// func outsideRange32(x *uint32, out *uint64, words int, base uint32, top int32)
TEXT ·outsideRange32(SB), NOSPLIT, $0-32
	MOVQ         x+0(FP), SI
	MOVQ         out+8(FP), DI
	MOVQ         words+16(FP), CX
	MOVL         base+24(FP), AX
	MOVL         top+28(FP), BX
	VMOVD        AX, X0
	VMOVD        BX, X1
	VPBROADCASTD X0, Y0
	VPBROADCASTD X1, Y1

next:
	XORL R8, R8
	WORD32(OUTSIDE32)
	MOVQ R8, (DI)
	ADDQ $256, SI
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func outsideRange64(x *uint64, out *uint64, words int, base uint64, top int64)
TEXT ·outsideRange64(SB), NOSPLIT, $0-40
	MOVQ         x+0(FP), SI
	MOVQ         out+8(FP), DI
	MOVQ         words+16(FP), CX
	VPBROADCASTQ base+24(FP), Y0
	VPBROADCASTQ top+32(FP), Y1

next:
	XORL R8, R8
	WORD64(OUTSIDE64)
	MOVQ R8, (DI)
	ADDQ $512, SI
	ADDQ $8, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// The loop over the words of two columns.
#define COLUMNS(WORD, ROWS, size) \
next: \
	XORL R8, R8    \
	WORD(ROWS)     \
	MOVQ R8, (DI)  \
	ADDQ $size, SI \
	ADDQ $size, DX \
	ADDQ $8, DI    \
	DECQ CX        \
	JNZ  next      \
	VZEROUPPER     \
	RET

// func lessColumns32(a, b *uint32, out *uint64, words int)
TEXT ·lessColumns32(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DX
	MOVQ out+16(FP), DI
	MOVQ words+24(FP), CX
	COLUMNS(WORD32, LESS32, 256)

// func lessColumns64(a, b *uint64, out *uint64, words int)
TEXT ·lessColumns64(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DX
	MOVQ out+16(FP), DI
	MOVQ words+24(FP), CX
	COLUMNS(WORD64, LESS64, 512)

// func equalColumns32(a, b *uint32, out *uint64, words int)
TEXT ·equalColumns32(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DX
	MOVQ out+16(FP), DI
	MOVQ words+24(FP), CX
	COLUMNS(WORD32, EQUAL32, 256)

// func equalColumns64(a, b *uint64, out *uint64, words int)
TEXT ·equalColumns64(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DX
	MOVQ out+16(FP), DI
	MOVQ words+24(FP), CX
	COLUMNS(WORD64, EQUAL64, 512)

// func expandWords(out *uint32, mask *uint64, words int, first uint32, table *[256]uint64) (n int)
TEXT ·expandWords(SB), NOSPLIT, $0-48
	MOVQ         out+0(FP), DI
	MOVQ         mask+8(FP), SI
	MOVQ         words+16(FP), CX
	MOVL         first+24(FP), R9
	MOVQ         table+32(FP), DX
	MOVQ         DI, R10
	MOVL         $8, AX
	VMOVD        AX, X2
	VPBROADCASTD X2, Y2 // rows of a byte

word:
	MOVQ         (SI), R8
	TESTQ        R8, R8
	JZ           none
	VMOVD        R9, X0
	VPBROADCASTD X0, Y0 // the number of the byte's first row
	MOVL         $8, R11

byte:
	MOVBLZX   R8, AX
	VPMOVZXBD (DX)(AX*8), Y1
	VPADDD    Y0, Y1, Y1
	VMOVDQU   Y1, (DI)
	POPCNTL   AX, AX
	LEAQ      (DI)(AX*4), DI
	VPADDD    Y2, Y0, Y0
	SHRQ      $8, R8
	DECL      R11
	JNZ       byte

none:
	ADDL $64, R9
	ADDQ $8, SI
	DECQ CX
	JNZ  word
	VZEROUPPER
	SUBQ R10, DI
	SHRQ $2, DI
	MOVQ DI, n+40(FP)
	RET
