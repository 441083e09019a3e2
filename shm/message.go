package shm

import "fmt"

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
)

// MaxJob is the longest job in JSON that Open may carry.
const MaxJob = 1 << 20

// shape describes the valid frames of one type.
type shape struct {
	name     string
	min, max int // bytes of body
	fds      int // maximum number of descriptors
}

func fixed[T Struct](name string) shape {
	return shape{name: name, min: Sizeof[T](), max: Sizeof[T]()}
}

var shapes = map[Message]shape{
	MsgHello:       fixed[Hello]("HELLO"),
	MsgOpen:        {"OPEN", Sizeof[Open](), Sizeof[Open]() + MaxJob, 0},
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

	MsgWelcome:     fixed[Welcome]("WELCOME"),
	MsgAdmitted:    fixed[Admitted]("ADMITTED"),
	MsgFailed:      {"FAILED", Sizeof[Failed](), Sizeof[Failed]() + MaxText, 0},
	MsgGrant:       {"GRANT", Sizeof[Grant](), Sizeof[Grant](), FrameMaxFDs},
	MsgFedOK:       {name: "FED_OK"},
	MsgRunning:     {name: "RUNNING"},
	MsgResult:      {"RESULT", Sizeof[Result](), Sizeof[Result](), 1},
	MsgEnd:         {name: "END"},
	MsgChainExtent: {"CHAIN_EXTENT", Sizeof[ChainExtent](), Sizeof[ChainExtent](), 1},
	MsgStats:       {"STATS", Sizeof[Stats](), FrameMax, 0},
	MsgStatus:      {"STATUS", 0, FrameMax, 0},
	MsgFilter:      {"FILTER", Sizeof[Filter](), Sizeof[Filter](), 1},
}

// BodySize returns the minimum bytes of the body of a message of type m.
func BodySize(m Message) int { return shapes[m].min }

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
