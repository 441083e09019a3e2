package shm

import "fmt"

// describers format bodies by type of message.
var describers = map[Message]func([]byte) (string, error){
	MsgHello: describe[Hello], MsgOpen: describe[Open], MsgAttach: describe[Attach],
	MsgWant: describe[Want], MsgFilled: describe[Filled], MsgChainFilled: describe[ChainFilled],
	MsgFed: describe[Fed], MsgRun: describe[Run], MsgNext: describe[Next],
	MsgRelease: describe[Release], MsgChainGet: describe[ChainGet], MsgReturned: describe[Returned],
	MsgWelcome: describe[Welcome], MsgAdmitted: describe[Admitted], MsgFailed: describe[Failed],
	MsgGrant: describe[Grant], MsgResult: describe[Result], MsgChainExtent: describe[ChainExtent],
	MsgInputFed: describe[InputFed], MsgFilterGet: describe[FilterGet], MsgFiltered: describe[Filtered],
	MsgFilter: describe[Filter], MsgStats: describe[Stats],
}

func describe[T Struct](body []byte) (string, error) {
	v, rest, err := DecodePrefix[T](body)
	if err != nil {
		return "", err
	}
	text := Describe(&v)
	if len(rest) > 0 {
		text += fmt.Sprintf(" and %d bytes", len(rest))
	}
	return text, nil
}

// DescribeFrame formats a frame on one line, without the job of OPEN, the
// status and the token.
func DescribeFrame(b []byte) (string, error) {
	f, err := ParseFrame(b)
	if err != nil {
		return "", err
	}
	body := b[FrameSize:len(b):len(b)]
	if int64(f.Length) != int64(len(body)) {
		return "", fmt.Errorf("%w: %s of %d bytes in %d", ErrFrameLength, f.Type, f.Length, len(body))
	}
	text := f.Type.String()
	if f.NFDs > 0 {
		text += fmt.Sprintf(" (%d fds)", f.NFDs)
	}
	if f.Type == MsgFailed {
		code, reason, err := DecodeFailed(body)
		return fmt.Sprintf("%s %s: %s", text, code, reason), err
	}
	if d := describers[f.Type]; d != nil {
		detail, err := d(body)
		return text + " " + detail, err
	}
	if len(body) > 0 {
		text += fmt.Sprintf(" %d bytes", len(body))
	}
	return text, nil
}
