package shm

import (
	"errors"
	"reflect"
	"testing"
)

// TestKeptMessages: lists arrive as they were sent, and a message that contradicts
// itself is refused.
func TestKeptMessages(t *testing.T) {
	groups := []Group{{LSN: 8, Visible: Bitmap{5}}, {Visible: Bitmap{1}}}
	pages := AppendPages(nil, &Pages{Blocks: GroupBlocks + 1, Flushed: 9}, groups)[FrameSize:]
	if p, got, err := DecodePages(pages); err != nil || p.Groups != 2 || !reflect.DeepEqual(got, groups) {
		t.Errorf("%+v, %v", p, err)
	}
	states := []GroupState{GroupMixed, GroupKept}
	kept := AppendKept(nil, &Kept{Mode: FeedKept, Blocks: GroupBlocks + 1}, states)[FrameSize:]
	if k, got, err := DecodeKept(kept); err != nil || k.Groups != 2 || !reflect.DeepEqual(got, states) {
		t.Errorf("%+v, %v", k, err)
	}
	lsns := []uint64{3, 1 << 40}
	blocks := AppendBlocks(nil, &Blocks{Kept: Bitmap{1}, Prove: Bitmap{4, 1}}, lsns)[FrameSize:]
	if b, got, err := DecodeBlocks(blocks); err != nil || b.LSNs != 2 || !reflect.DeepEqual(got, lsns) {
		t.Errorf("%+v, %v", b, err)
	}
	list := []CapturedBlock{{LSN: 1, Block: 2}, {Block: 5, FirstRow: 3}, {Block: 6, FirstRow: 3}}
	captured := AppendCaptured(nil, &Captured{Rows: 4}, list)[FrameSize:]
	if c, got, err := DecodeCaptured(captured); err != nil || c.Blocks != 3 || !reflect.DeepEqual(got, list) {
		t.Errorf("%+v, %v", c, err)
	}
	forget := AppendForget(nil, &Forget{Tablespace: 1, File: 2}, "a.b")[FrameSize:]
	if f, name, err := DecodeForget(forget); err != nil || f != (Forget{1, 2, 3, 0}) || name != "a.b" {
		t.Errorf("%+v, %q, %v", f, name, err)
	}

	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrKept) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, _, err := DecodePages(pages[:len(pages)-8])
	refused("a page that is cut off", err)
	_, _, err = DecodePages(AppendPages(nil, &Pages{Blocks: GroupBlocks + 1}, groups[:1])[FrameSize:])
	refused("too few pages", err)
	_, _, err = DecodePages(AppendPages(nil, &Pages{Blocks: 2}, groups[:1])[FrameSize:])
	refused("a visible block after the end", err)
	_, _, err = DecodePages(AppendPages(nil, &Pages{}, nil)[FrameSize:])
	refused("an empty table", err)
	_, _, err = DecodeKept(AppendKept(nil, &Kept{Mode: FeedKept, Blocks: 1}, states)[FrameSize:])
	refused("too many states", err)
	_, _, err = DecodeKept(AppendKept(nil, &Kept{Blocks: 1}, states[:1])[FrameSize:])
	refused("states without need", err)
	_, _, err = DecodeKept(AppendKept(nil, &Kept{Mode: FeedKept, Blocks: 1}, []GroupState{3})[FrameSize:])
	refused("an unknown state", err)
	_, _, err = DecodeBlocks(blocks[:len(blocks)-8])
	refused("too few LSNs", err)
	_, _, err = DecodeBlocks(AppendBlocks(nil, &Blocks{Prove: Bitmap{1}}, lsns)[FrameSize:])
	refused("too many LSNs", err)
	_, _, err = DecodeBlocks(AppendBlocks(nil, &Blocks{Kept: Bitmap{1}, Prove: Bitmap{1}}, lsns[:1])[FrameSize:])
	refused("a block that is served and to be proved", err)
	_, _, err = DecodeForget(forget[:len(forget)-1])
	refused("a name that is cut off", err)
	for what, list := range map[string][]CapturedBlock{
		"no block":                     {},
		"rows of no block":             {{FirstRow: 1}},
		"a block twice":                {{Block: 1}, {Block: 1, FirstRow: 1}},
		"rows in another order":        {{Block: 1}, {Block: 2, FirstRow: 3}, {Block: 3, FirstRow: 2}},
		"a row that is not in a batch": {{Block: 1}, {Block: 2, FirstRow: 5}},
	} {
		_, _, err = DecodeCaptured(AppendCaptured(nil, &Captured{Rows: 4}, list)[FrameSize:])
		refused(what, err)
	}
}

// TestBitmap: bits are counted and bounded at every position.
func TestBitmap(t *testing.T) {
	for _, at := range []int{0, 1, 7, 8, GroupBlocks - 1, 8*GroupBitmap - 1} {
		var m Bitmap
		m[at/8] = 1 << (at % 8)
		if m.Within(at) || !m.Within(at+1) || m.Count() != 1 {
			t.Errorf("bit %d", at)
		}
	}
	for _, c := range []struct{ blocks, groups, last int }{
		{0, 0, 0}, {1, 1, 1}, {GroupBlocks, 1, GroupBlocks}, {GroupBlocks + 1, 2, 1}, {1<<32 - 1, 131458, 4191},
	} {
		if n := Groups(uint32(c.blocks)); n != c.groups || n > 0 && GroupLength(uint32(c.blocks), n-1) != c.last {
			t.Errorf("%d blocks: %d groups, the last one of %d", c.blocks, n, GroupLength(uint32(c.blocks), n-1))
		}
	}
}
