package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Errors of a frame header, in the order of the checks.
var (
	ErrFrameMagic    = errors.New("not a frame")
	ErrFrameReserved = errors.New("reserved bytes of a frame are not zero")
	ErrFrameType     = errors.New("unknown message")
	ErrFrameLength   = errors.New("message has the wrong length")
	ErrFrameFDs      = errors.New("message has the wrong number of file descriptors")
)

// Frame is gj_frame, the header before every body on the socket. The message's file
// descriptors travel with its first byte.
type Frame struct {
	Magic    uint32  `c:"magic"`
	Length   uint32  `c:"length"`
	Type     Message `c:"type"`
	NFDs     uint16  `c:"nfds"`
	Reserved uint32  `c:"reserved"`
}

// FrameSize is the size of a frame header in bytes.
const FrameSize = 16

// Check returns an error unless f can be the header of a message. Callers check before
// they allocate Length bytes.
func (f *Frame) Check() error {
	if f.Magic != FrameMagic {
		return fmt.Errorf("%w: magic %#x", ErrFrameMagic, f.Magic)
	}
	if f.Reserved != 0 {
		return ErrFrameReserved
	}
	s, ok := shapes[f.Type]
	if !ok {
		return fmt.Errorf("%w: type %d", ErrFrameType, uint16(f.Type))
	}
	if int64(f.Length) < int64(s.min) || int64(f.Length) > int64(s.max) {
		return fmt.Errorf("%w: %s with %d bytes", ErrFrameLength, s.name, f.Length)
	}
	if int(f.NFDs) > s.fds {
		return fmt.Errorf("%w: %s with %d", ErrFrameFDs, s.name, f.NFDs)
	}
	return nil
}

// ParseFrame decodes and checks a header.
func ParseFrame(b []byte) (Frame, error) {
	f, _, err := DecodePrefix[Frame](b)
	if err != nil {
		return f, err
	}
	return f, f.Check()
}

// BeginFrame appends a header, whose length FinishFrame sets.
func BeginFrame(dst []byte, m Message, nfds int) []byte {
	return Append(dst, &Frame{Magic: FrameMagic, Type: m, NFDs: uint16(nfds)})
}

// FinishFrame sets the length of the frame that extends from offset start to b's end.
func FinishFrame(b []byte, start int) {
	binary.LittleEndian.PutUint32(b[start+4:], uint32(len(b)-start-FrameSize))
}

// AppendFrame appends a whole message of type m with body v.
func AppendFrame[T Struct](dst []byte, m Message, nfds int, v *T) []byte {
	start := len(dst)
	dst = Append(BeginFrame(dst, m, nfds), v)
	FinishFrame(dst, start)
	return dst
}

// AppendEmpty appends a message without body.
func AppendEmpty(dst []byte, m Message) []byte { return BeginFrame(dst, m, 0) }

// Message is the type of a frame.
type Message uint16

// Messages of the backend.
const (
	MsgHello Message = iota + 1
	MsgOpen
	MsgAttach
	MsgWant
	MsgFilled
	MsgChainFilled
	MsgFed
	MsgRun
	MsgNext
	MsgRelease
	MsgChainGet
	MsgReturned
	MsgStatsGet
	MsgStatusGet
	MsgInputFed
	MsgFilterGet
	MsgFiltered
	MsgPages
	MsgKeptGet
	MsgBlocksGet
	MsgProved
	MsgCaptured
	MsgForget
	MsgSourceGet
	MsgStatusReset
)

// Messages of the daemon.
const (
	MsgWelcome Message = iota + 65
	MsgAdmitted
	MsgFailed
	MsgGrant
	MsgFedOK
	MsgRunning
	MsgResult
	MsgEnd
	MsgChainExtent
	MsgStats
	MsgStatus
	MsgFilter
	MsgKept
	MsgBlocks
	MsgForgotten
	MsgSource
)

// MaxJob is the longest job in JSON that Open may carry.
const MaxJob = 1 << 20

// shape describes the valid frames of one type.
type shape struct {
	name     string
	min, max int                               // bytes of body
	fds      int                               // maximum number of descriptors
	describe func(body []byte) (string, error) // nil: by its size
}

// fixed is the shape of messages whose body is a T.
func fixed[T Struct](name string) shape { return upTo[T](name, Sizeof[T](), 0) }

// upTo is the shape of messages whose body is a T and other bytes, most in all.
func upTo[T Struct](name string, most, fds int) shape {
	return shape{name, Sizeof[T](), most, fds, describe[T]}
}

var shapes = map[Message]shape{
	MsgHello:       fixed[Hello]("HELLO"),
	MsgOpen:        upTo[Open]("OPEN", Sizeof[Open]()+MaxJob, 0),
	MsgAttach:      fixed[Attach]("ATTACH"),
	MsgWant:        fixed[Want]("WANT"),
	MsgFilled:      fixed[Filled]("FILLED"),
	MsgChainFilled: fixed[ChainFilled]("CHAIN_FILLED"),
	MsgFed:         fixed[Fed]("FED"),
	MsgRun:         fixed[Run]("RUN"),
	MsgNext:        fixed[Next]("NEXT"),
	MsgRelease:     fixed[Release]("RELEASE"),
	MsgChainGet:    fixed[ChainGet]("CHAIN_GET"),
	MsgReturned:    fixed[Returned]("RETURNED"),
	MsgStatsGet:    {name: "STATS_GET"},
	MsgStatusGet:   {name: "STATUS_GET"},
	MsgInputFed:    fixed[InputFed]("INPUT_FED"),
	MsgFilterGet:   fixed[FilterGet]("FILTER_GET"),
	MsgFiltered:    fixed[Filtered]("FILTERED"),
	MsgPages:       upTo[Pages]("PAGES", Sizeof[Pages]()+MaxGroups*Sizeof[Group]()+2*MaxColumns+MaxText, 0),
	MsgKeptGet:     fixed[KeptGet]("KEPT_GET"),
	MsgBlocksGet:   fixed[BlocksGet]("BLOCKS_GET"),
	MsgProved:      fixed[Proved]("PROVED"),
	MsgCaptured:    upTo[Captured]("CAPTURED", FrameMax, 0),
	MsgForget:      upTo[Forget]("FORGET", Sizeof[Forget]()+MaxText, 0),
	MsgSourceGet:   upTo[SourceGet]("SOURCE_GET", FrameMax, 0),
	MsgStatusReset: {name: "STATUS_RESET"},

	MsgWelcome:     fixed[Welcome]("WELCOME"),
	MsgAdmitted:    fixed[Admitted]("ADMITTED"),
	MsgFailed:      upTo[Failed]("FAILED", Sizeof[Failed]()+MaxText, 0),
	MsgGrant:       upTo[Grant]("GRANT", Sizeof[Grant](), FrameMaxFDs),
	MsgFedOK:       {name: "FED_OK"},
	MsgRunning:     {name: "RUNNING"},
	MsgResult:      upTo[Result]("RESULT", Sizeof[Result](), 1),
	MsgEnd:         {name: "END"},
	MsgChainExtent: upTo[ChainExtent]("CHAIN_EXTENT", Sizeof[ChainExtent](), 1),
	MsgStats:       upTo[Stats]("STATS", FrameMax, 0),
	MsgStatus:      {name: "STATUS", max: FrameMax},
	MsgFilter:      upTo[Filter]("FILTER", Sizeof[Filter](), 1),
	MsgKept:        upTo[Kept]("KEPT", Sizeof[Kept]()+MaxInputGroups*(Sizeof[KeptLeaf]()+1), 0),
	MsgBlocks:      upTo[Blocks]("BLOCKS", Sizeof[Blocks]()+8*GroupBlocks, 0),
	MsgForgotten:   fixed[Forgotten]("FORGOTTEN"),
	MsgSource:      upTo[Source]("SOURCE", FrameMax, 0),
}

// Known reports whether the protocol has a message of type m.
func (m Message) Known() bool {
	_, ok := shapes[m]
	return ok
}

// FromDaemon reports whether the daemon, and not the backend, sends messages of type m.
func (m Message) FromDaemon() bool { return m >= MsgWelcome }

func (m Message) String() string {
	if s, ok := shapes[m]; ok {
		return s.name
	}
	return fmt.Sprintf("message %d", uint16(m))
}
