package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// ErrKept reports a message on kept columns that contradicts itself.
var ErrKept = errors.New("malformed message on kept columns")

// Bitmap has one bit for each block of a group, the least significant bit of a byte
// first. Bits of blocks that do not exist are 0.
type Bitmap [GroupBitmap]byte

// Pages is gj_pages, on one leaf of an input. Groups pages of the visibility map follow it,
// then the numbers of Columns columns in this table, then its name of Length bytes.
type Pages struct {
	Input       uint32 `c:"input"`
	Flags       uint32 `c:"flags"`        // PagesAlways, PagesMore
	ServerStart int64  `c:"server_start"` // as PostgreSQL counts time
	Timeline    uint32 `c:"timeline"`
	Database    uint32 `c:"database"`
	Tablespace  uint32 `c:"tablespace"`
	File        uint32 `c:"file"`     // relfilenode
	Relation    uint32 `c:"relation"` // pg_class.oid
	Blocks      uint32 `c:"blocks"`
	Others      uint32 `c:"others"` // blocks of the leaves for which no Pages come
	Groups      uint32 `c:"groups"`
	Flushed     uint64 `c:"flushed"` // what has a lower or the same LSN is on disk
	Rows        uint64 `c:"rows"`    // expected in these blocks; 0: unknown
	Columns     uint32 `c:"columns"`
	Length      uint32 `c:"length"`
}

// Group is gj_group, one page of the visibility map.
type Group struct {
	LSN     uint64 `c:"lsn"` // 0: the page does not exist or has none
	Visible Bitmap `c:"visible"`
}

// KeptGet is gj_kept_get: a participant that has attached asks for Kept.
type KeptGet struct {
	Input    uint32 `c:"input"`
	Reserved uint32 `c:"reserved"`
}

// FeedMode says how an input is fed.
type FeedMode uint32

const (
	// FeedPlain: all rows that pass the conditions, without hidden columns.
	FeedPlain FeedMode = iota
	// FeedKept: by the states of its groups, with hidden columns.
	FeedKept
)

// Kept is gj_kept, the answer to Pages and KeptGet; Leaves leaves and Groups states follow it.
type Kept struct {
	Input  uint32   `c:"input"`
	Mode   FeedMode `c:"mode"`
	Leaves uint32   `c:"leaves"`
	Groups uint32   `c:"groups"` // of all leaves
}

// KeptLeaf is gj_kept_leaf, in the order of Pages.
type KeptLeaf struct {
	Relation uint32 `c:"relation"`
	Blocks   uint32 `c:"blocks"`
	Capture  uint32 `c:"capture"` // blocks before it that are fed are to be sent in CAPTURED
	Reserved uint32 `c:"reserved"`
}

// GroupState says how a group of an input in FeedKept is fed.
type GroupState uint8

const (
	// GroupFed: each block is fed.
	GroupFed GroupState = iota
	// GroupKept: no block is fed.
	GroupKept
	// GroupMixed: Blocks says which.
	GroupMixed
)

// BlocksGet is gj_blocks_get: a participant asks for the Blocks of a group.
type BlocksGet struct {
	Input uint32 `c:"input"`
	Group uint32 `c:"group"`
}

// Blocks is gj_blocks, the answer to BlocksGet; LSNs numbers of 8 bytes follow it, one
// for each bit of Prove.
type Blocks struct {
	Input    uint32 `c:"input"`
	Group    uint32 `c:"group"`
	LSNs     uint32 `c:"lsns"`
	Reserved uint32 `c:"reserved"`
	Kept     Bitmap `c:"kept"`  // served
	Prove    Bitmap `c:"prove"` // served if the page has the LSN that the message names
}

// Proved is gj_proved: blocks whose LSN a participant found equal.
type Proved struct {
	Input  uint32 `c:"input"`
	Group  uint32 `c:"group"`
	Blocks Bitmap `c:"blocks"`
}

// Captured is gj_captured: an extent holds a batch of all rows of Blocks blocks, which
// follow.
type Captured struct {
	Extent   uint64 `c:"extent"`
	Input    uint32 `c:"input"`
	Rows     uint32 `c:"rows"` // > 0; equals Batch.Rows
	Blocks   uint32 `c:"blocks"`
	Reserved uint32 `c:"reserved"`
}

// CapturedBlock is gj_captured_block.
type CapturedBlock struct {
	LSN      uint64 `c:"lsn"`       // of the page; 0: the block must not be kept
	Block    uint32 `c:"block"`     // of the input: group and block there
	FirstRow uint32 `c:"first_row"` // in the batch
}

// Groups returns the number of groups of a table of so many blocks.
func Groups(blocks uint32) int {
	return int((uint64(blocks) + GroupBlocks - 1) / GroupBlocks)
}

// GroupLength returns the number of blocks in a group of a table of so many blocks.
func GroupLength(blocks uint32, group int) int {
	return max(0, int(min(int64(blocks)-int64(group)*GroupBlocks, GroupBlocks)))
}

// Within reports whether the bitmap has no bit of a block from n on.
func (m *Bitmap) Within(n int) bool {
	if n/8 >= len(m) {
		return true
	}
	if m[n/8]>>(n%8) != 0 {
		return false
	}
	for _, b := range m[n/8+1:] {
		if b != 0 {
			return false
		}
	}
	return true
}

// Count returns the number of bits that are 1.
func (m *Bitmap) Count() int {
	n := 0
	for _, b := range m {
		n += bits.OnesCount8(b)
	}
	return n
}

// takeList copies n structures from the start of body. It returns the rest, too.
func takeList[U Struct](body []byte, n uint32) (list []U, rest []byte, err error) {
	if int64(len(body)) < int64(n)*int64(Sizeof[U]()) {
		return nil, nil, fmt.Errorf("%w: %d bytes for a list of %d", ErrKept, len(body), n)
	}
	list = make([]U, n)
	for i := range list {
		if list[i], body, err = DecodePrefix[U](body); err != nil {
			return nil, nil, err
		}
	}
	return list, body, nil
}

// decodeList copies a T from the start of body, and n(T) structures U that must be all
// that follows it.
func decodeList[T, U Struct](body []byte, n func(*T) uint32) (v T, list []U, err error) {
	v, rest, err := DecodePrefix[T](body)
	if err != nil {
		return v, nil, err
	}
	if list, rest, err = takeList[U](rest, n(&v)); err == nil && len(rest) != 0 {
		err = fmt.Errorf("%w: %d bytes after a list of %d", ErrKept, len(rest), n(&v))
	}
	return v, list, err
}

// Leaf is a table whose rows an input has, all or some of them.
type Leaf struct {
	Groups  []Group // pages of the visibility map, of all blocks
	Attnums []int16 // of each of the input's columns
	Name    string
}

// AppendPages appends a PAGES message. It sets p.Groups, p.Columns and p.Length.
func AppendPages(dst []byte, p *Pages, leaf *Leaf) []byte {
	start := len(dst)
	p.Groups, p.Columns, p.Length = uint32(len(leaf.Groups)), uint32(len(leaf.Attnums)), uint32(len(leaf.Name))
	dst = appendAll(Append(BeginFrame(dst, MsgPages, 0), p), leaf.Groups)
	for _, n := range leaf.Attnums {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
	}
	dst = append(dst, leaf.Name...)
	FinishFrame(dst, start)
	return dst
}

// DecodePages returns the body of a PAGES message and what follows it: the pages of the
// visibility map are those of all its blocks.
func DecodePages(body []byte) (Pages, *Leaf, error) {
	p, rest, err := DecodePrefix[Pages](body)
	if err != nil {
		return p, nil, err
	}
	leaf := &Leaf{}
	if leaf.Groups, rest, err = takeList[Group](rest, p.Groups); err != nil {
		return p, nil, err
	}
	if p.Columns > MaxColumns || p.Length > MaxText || len(rest) != 2*int(p.Columns)+int(p.Length) {
		return p, nil, fmt.Errorf("%w: %d bytes for %d columns and a name of %d bytes", ErrKept, len(rest), p.Columns, p.Length)
	}
	for ; len(leaf.Attnums) < int(p.Columns); rest = rest[2:] {
		leaf.Attnums = append(leaf.Attnums, int16(binary.LittleEndian.Uint16(rest)))
		if n := leaf.Attnums[len(leaf.Attnums)-1]; n <= 0 {
			return p, nil, fmt.Errorf("%w: column number %d", ErrKept, n)
		}
	}
	leaf.Name = string(rest)
	groups := leaf.Groups
	if p.Blocks == 0 || len(groups) != Groups(p.Blocks) || len(groups) > MaxGroups || p.Flags&^(PagesAlways|PagesMore) != 0 {
		return p, nil, fmt.Errorf("%w: %d groups of %d blocks, flags %#x", ErrKept, len(groups), p.Blocks, p.Flags)
	}
	if last := len(groups) - 1; !groups[last].Visible.Within(GroupLength(p.Blocks, last)) || !fills(groups) {
		return p, nil, fmt.Errorf("%w: a visible block after the end of the table", ErrKept)
	}
	return p, leaf, nil
}

// fills reports whether no group has a bit of a block that no group can have.
func fills(groups []Group) bool {
	for i := range groups {
		if !groups[i].Visible.Within(GroupBlocks) {
			return false
		}
	}
	return true
}

// AppendKept appends a KEPT message. It sets k.Leaves and k.Groups.
func AppendKept(dst []byte, k *Kept, leaves []KeptLeaf, states []GroupState) []byte {
	start := len(dst)
	k.Leaves, k.Groups = uint32(len(leaves)), uint32(len(states))
	dst = appendAll(Append(BeginFrame(dst, MsgKept, 0), k), leaves)
	for _, s := range states {
		dst = append(dst, byte(s))
	}
	FinishFrame(dst, start)
	return dst
}

// DecodeKept returns the body of a KEPT message, its leaves and the states of their groups;
// there are none of either in FeedPlain.
func DecodeKept(body []byte) (Kept, []KeptLeaf, []GroupState, error) {
	k, rest, err := DecodePrefix[Kept](body)
	if err != nil {
		return k, nil, nil, err
	}
	leaves, rest, err := takeList[KeptLeaf](rest, k.Leaves)
	if err != nil {
		return k, nil, nil, err
	}
	groups := 0
	for _, l := range leaves {
		if l.Blocks == 0 || l.Capture > l.Blocks || l.Reserved != 0 {
			return k, nil, nil, fmt.Errorf("%w: a leaf of %d blocks, of which %d are captured", ErrKept, l.Blocks, l.Capture)
		}
		groups += Groups(l.Blocks)
	}
	if k.Mode > FeedKept || (k.Mode == FeedKept) != (len(leaves) > 0) || groups > MaxInputGroups || int64(k.Groups) != int64(groups) || len(rest) != groups {
		return k, nil, nil, fmt.Errorf("%w: mode %d, %d groups of %d leaves in %d bytes", ErrKept, k.Mode, k.Groups, len(leaves), len(rest))
	}
	states := make([]GroupState, groups)
	for i, s := range rest {
		if states[i] = GroupState(s); states[i] > GroupMixed {
			return k, nil, nil, fmt.Errorf("%w: a group in state %d", ErrKept, s)
		}
	}
	return k, leaves, states, nil
}

// AppendBlocks appends a BLOCKS message. It sets b.LSNs.
func AppendBlocks(dst []byte, b *Blocks, lsns []uint64) []byte {
	start := len(dst)
	b.LSNs = uint32(len(lsns))
	dst = slices.Grow(dst, FrameSize+Sizeof[Blocks]()+8*len(lsns)) // a quarter of a megabyte, as a rule
	dst = Append(BeginFrame(dst, MsgBlocks, 0), b)
	for _, lsn := range lsns {
		dst = binary.LittleEndian.AppendUint64(dst, lsn)
	}
	FinishFrame(dst, start)
	return dst
}

// DecodeBlocks returns the body of a BLOCKS message and an LSN for each block to prove.
func DecodeBlocks(body []byte) (Blocks, []uint64, error) {
	b, rest, err := DecodePrefix[Blocks](body)
	if err != nil {
		return b, nil, err
	}
	if int64(len(rest)) != 8*int64(b.LSNs) || b.Prove.Count() != int(b.LSNs) || b.Reserved != 0 {
		return b, nil, fmt.Errorf("%w: %d LSNs in %d bytes for %d blocks", ErrKept, b.LSNs, len(rest), b.Prove.Count())
	}
	for i := range b.Kept {
		if b.Kept[i]&b.Prove[i] != 0 {
			return b, nil, fmt.Errorf("%w: a block is served and to be proved", ErrKept)
		}
	}
	lsns := make([]uint64, b.LSNs)
	for i := range lsns {
		lsns[i] = binary.LittleEndian.Uint64(rest[8*i:])
	}
	return b, lsns, nil
}

// AppendCaptured appends a CAPTURED message. It sets c.Blocks.
func AppendCaptured(dst []byte, c *Captured, blocks []CapturedBlock) []byte {
	start := len(dst)
	c.Blocks = uint32(len(blocks))
	dst = appendAll(Append(BeginFrame(dst, MsgCaptured, 0), c), blocks)
	FinishFrame(dst, start)
	return dst
}

// DecodeCaptured returns the body of a CAPTURED message and its blocks, whose numbers
// increase and to which all rows of the batch belong.
func DecodeCaptured(body []byte) (Captured, []CapturedBlock, error) {
	c, blocks, err := decodeList[Captured, CapturedBlock](body, func(c *Captured) uint32 { return c.Blocks })
	if err != nil {
		return c, nil, err
	}
	if c.Rows == 0 || len(blocks) == 0 || blocks[0].FirstRow != 0 || c.Reserved != 0 {
		return c, nil, fmt.Errorf("%w: %d rows of %d blocks", ErrKept, c.Rows, len(blocks))
	}
	for i := range blocks {
		b := &blocks[i]
		if b.FirstRow > c.Rows || i > 0 && (b.Block <= blocks[i-1].Block || b.FirstRow < blocks[i-1].FirstRow) {
			return c, nil, fmt.Errorf("%w: row %d of %d begins block %d", ErrKept, b.FirstRow, c.Rows, b.Block)
		}
	}
	return c, blocks, nil
}

// Forget is gj_forget: drops what is kept of a table, whose name of Length bytes follows.
type Forget struct {
	Tablespace uint32 `c:"tablespace"`
	File       uint32 `c:"file"` // relfilenode
	Length     uint32 `c:"length"`
	Reserved   uint32 `c:"reserved"`
}

// Forgotten is gj_forgotten, the answer to Forget.
type Forgotten struct {
	Bytes uint64 `c:"bytes"` // of values that are no longer kept
}

// AppendForget appends a FORGET message. It sets f.Length.
func AppendForget(dst []byte, f *Forget, name string) []byte {
	start := len(dst)
	f.Length = uint32(len(name))
	dst = append(Append(BeginFrame(dst, MsgForget, 0), f), name...)
	FinishFrame(dst, start)
	return dst
}

// DecodeForget returns the body of a FORGET message and the name of the table.
func DecodeForget(body []byte) (Forget, string, error) {
	f, rest, err := DecodePrefix[Forget](body)
	if err != nil {
		return f, "", err
	}
	if int64(f.Length) != int64(len(rest)) || f.Reserved != 0 {
		return f, "", fmt.Errorf("%w: a name of %d bytes in %d", ErrKept, f.Length, len(rest))
	}
	return f, string(rest), nil
}
