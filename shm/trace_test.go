package shm

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write golden files anew")

// TestGoldenTrace compares every message with the bytes and the text that it had when
// this version of the protocol was defined: a difference is a change of the protocol.
func TestGoldenTrace(t *testing.T) {
	version := [32]byte{}
	PutText(version[:], "0.1.0")
	token := [TokenSize]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	open := append(AppendFrame(nil, MsgOpen, 0, &Open{QueueTimeoutMS: 1000, Flags: OpenRewind, Participants: 3, JSONLength: 2, Participant: 1, Role: 16400, RoleShare: 500}), "{}"...)
	FinishFrame(open, 0)
	status := append(BeginFrame(nil, MsgStatus, 0), "{}"...)
	FinishFrame(status, 0)

	var out bytes.Buffer
	for _, b := range [][]byte{
		AppendFrame(nil, MsgHello, 0, &Hello{ProtocolVersion, LayoutVersion, 4711, 16384, 0x1122334455667788}),
		AppendFrame(nil, MsgWelcome, 0, &Welcome{ProtocolVersion: ProtocolVersion, LayoutVersion: LayoutVersion, ExtentSize: 4 << 20, PID: 42, Version: version}),
		open,
		AppendFrame(nil, MsgAdmitted, 0, &Admitted{Job: 1, Token: token, ReservedBytes: 1 << 30, QueueUS: 55}),
		AppendFrame(nil, MsgAttach, 0, &Attach{Job: 1, Token: token, Participant: 2}),
		AppendFrame(nil, MsgWant, 0, &Want{Count: 2}),
		AppendFrame(nil, MsgGrant, 2, &Grant{Count: 2, Extents: [FrameMaxFDs]uint64{100, 101}}),
		AppendFrame(nil, MsgFilled, 0, &Filled{Extent: 100, Input: 1, Rows: 4096}),
		AppendFrame(nil, MsgChainFilled, 0, &ChainFilled{Extent: 101, Chain: 1 << 32, Bytes: 999}),
		AppendFrame(nil, MsgInputFed, 0, &InputFed{Input: 1}),
		AppendFrame(nil, MsgFilterGet, 0, &FilterGet{Filter: 2}),
		AppendFrame(nil, MsgFilter, 1, &Filter{Extent: 102, Filter: 2, Kind: uint32(FilterBloom)}),
		AppendFrame(nil, MsgFiltered, 0, &Filtered{Filter: 2, Tested: 1000, Dropped: 990}),
		AppendPages(nil, &Pages{Flags: PagesAlways, ServerStart: -5, Timeline: 1, Database: 5, Tablespace: 1663, File: 16385, Relation: 16384, Blocks: 3, Flushed: 9},
			&Leaf{Groups: []Group{{LSN: 8, Visible: Bitmap{5}}}, Attnums: []int16{1}, Name: "public.t"}),
		AppendFrame(nil, MsgKeptGet, 0, &KeptGet{Input: 1}),
		AppendKept(nil, &Kept{Input: 1, Mode: FeedKept}, []KeptLeaf{{Relation: 16384, Capture: GroupBlocks, Blocks: GroupBlocks + 1}}, []GroupState{GroupKept, GroupMixed}),
		AppendFrame(nil, MsgBlocksGet, 0, &BlocksGet{Input: 1, Group: 1}),
		AppendBlocks(nil, &Blocks{Input: 1, Group: 1, Prove: Bitmap{1}}, []uint64{7}),
		AppendFrame(nil, MsgProved, 0, &Proved{Input: 1, Group: 1, Blocks: Bitmap{1}}),
		AppendCaptured(nil, &Captured{Extent: 103, Input: 1, Rows: 10}, []CapturedBlock{{LSN: 6, Block: 1}, {Block: 2, FirstRow: 4}}),
		AppendFrame(nil, MsgFed, 0, &Fed{Rows: 4096, Bytes: 65536, FeedUS: 77, WaitUS: 7}),
		AppendEmpty(nil, MsgFedOK),
		AppendFrame(nil, MsgRun, 0, &Run{Generation: 1}),
		AppendEmpty(nil, MsgRunning),
		AppendFrame(nil, MsgNext, 0, &Next{Count: 2}),
		AppendFrame(nil, MsgResult, 1, &Result{Extent: 100, Rows: 17}),
		AppendFrame(nil, MsgChainGet, 0, &ChainGet{Chain: 1 << 32}),
		AppendFrame(nil, MsgChainExtent, 1, &ChainExtent{Extent: 101, Chain: 1 << 32, Bytes: 999}),
		AppendFrame(nil, MsgRelease, 0, &Release{Extent: 100}),
		AppendEmpty(nil, MsgEnd),
		AppendFrame(nil, MsgReturned, 0, &Returned{Rows: 17, ReturnUS: 3}),
		AppendEmpty(nil, MsgStatsGet),
		AppendReport(nil, testReport()),
		AppendEmpty(nil, MsgStatusGet),
		AppendEmpty(nil, MsgStatusReset),
		status,
		AppendForget(nil, &Forget{Tablespace: 1663, File: 16385}, "public.t"),
		AppendFrame(nil, MsgForgotten, 0, &Forgotten{Bytes: 99}),
		AppendSourceGet(nil, SourceMirrors, []byte("{}")),
		AppendSource(nil, SourceMirrors, []byte(`{"mirrors":[]}`)),
		AppendFailed(nil, FailBusy, "", "memory budget in use"),
	} {
		text, err := DescribeFrame(b)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n%s\n", text, hex.Dump(b))
	}
	const golden = "testdata/trace.golden"
	if *rewrite {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("the protocol has changed:\n%s", out.Bytes())
	}
}

// TestLongFailure: texts are cut at character boundaries.
func TestLongFailure(t *testing.T) {
	text := string(bytes.Repeat([]byte("ä"), MaxText))
	_, got, err := DecodeFailed(AppendFailed(nil, FailInternal, "", "x"+text)[FrameSize:])
	if err != nil || len(got) != MaxText-1 || got != "x"+text[:MaxText-2] {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestDump prints one of each structure that can be dumped.
func TestDump(t *testing.T) {
	extent := make([]byte, 1<<20)
	fill(t, extent, testShapes, 3, nil)
	part := append(Append(nil, &ChainHeader{Magic: ChainMagic, Version: LayoutVersion, Chain: 7, Bytes: 3}), make([]byte, 48)...)
	status := &Status{Magic: StatusMagic, Version: LayoutVersion, PID: 5, Cores: 2}
	filter := append(Append(nil, &FilterHeader{Magic: FilterMagic, Version: LayoutVersion, Kind: uint16(FilterBloom), Bytes: 8, Keys: 3, Max: 9}), make([]byte, 24)...)
	var out bytes.Buffer
	for _, b := range [][]byte{extent, part, filter, Append(nil, status)} {
		if err := Dump(&out, b, 2); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"batch rows=3 columns=5", "... 1 more", "extent of a chain version=13 chain=7", "filter version=13 kind=2 bytes=8 keys=3", "status file version=13", "pid=5"} {
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("no %q in:\n%s", want, out.Bytes())
		}
	}
	if err := Dump(&out, make([]byte, 100), 2); err == nil {
		t.Error("zeroes were dumped")
	}
}

// testReport has two joins, with two phases and one, and one participant.
func testReport() *Report {
	r := &Report{Stats: Stats{QueueUS: 1, JoinUS: 2, RowsIn: 3, BytesIn: 4, RowsOut: 5, BytesOut: 6, PeakBytes: 7}}
	r.Devices, r.Hops, r.SentBytes, r.DeviceWaitUS, r.MeetingWaitUS, r.PredictedUS = 2, 1, 50, 51, 52, 53
	PutText(r.Provider[:], "cuda")
	PutText(r.Strategy[:], "exchange")
	PutText(r.StrategyReason[:], "not divide: there is one device")
	phase := func(name string, predicted, actual uint64) PhaseStats {
		p := PhaseStats{PredictedNS: predicted, ActualNS: actual}
		PutText(p.Name[:], name)
		return p
	}
	r.JoinList = []JoinReport{
		{JoinStats{Join: 0, Bits: 14, BuildRows: 8, ProbeRows: 9, RowsOut: 10, US: 11},
			[]PhaseStats{phase("partition build side", 18, 19), phase("match", 20, 21)}},
		{JoinStats{Join: 1, BuildLeft: 1, BuildRows: 22, ProbeRows: 23, RowsOut: 24, US: 25},
			[]PhaseStats{phase("build", 0, 26)}},
	}
	PutText(r.JoinList[0].Algorithm[:], "phj-om")
	PutText(r.JoinList[1].Algorithm[:], "npj")
	PutText(r.JoinList[1].Reason[:], "it has a further condition")
	r.AggregateList = []AggregateStats{{RowsIn: 30, Groups: 31, Bytes: 32, US: 33}}
	PutText(r.AggregateList[0].Strategy[:], "hash")
	r.FilterList = []FilterStats{{Kind: uint32(FilterBloom), Keys: 40, Bytes: 41, US: 42, Tested: 43, Dropped: 44}, {}}
	PutText(r.FilterList[1].Reason[:], "no memory")
	r.ParticipantList = []ParticipantStats{{Participant: -1, FedRows: 12, FedBytes: 13, FeedUS: 14, WaitUS: 15, ReturnedRows: 16, ReturnUS: 17}}
	return r
}
