package backend

import (
	"encoding/json"
	"fmt"

	"gpujoin/shm"
)

// SourceError is the error of a request on a foreign server.
type SourceError struct{ SQLState, Message, Detail, Hint string }

func (e *SourceError) Error() string {
	return fmt.Sprintf("%s: %s: %s (%s)", e.SQLState, e.Message, e.Detail, e.Hint)
}

// Source sends a request on a foreign server and decodes its answer; an error in the answer is a
// *SourceError.
func (c *Conn) Source(kind shm.SourceKind, request, answer any) error {
	if err := c.SendSource(kind, request); err != nil {
		return err
	}
	return c.ReceiveSource(kind, answer)
}

// SendSource sends a request on a foreign server.
func (c *Conn) SendSource(kind shm.SourceKind, request any) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return c.conn.Write(shm.AppendSourceGet(nil, kind, text), nil)
}

// ReceiveSource receives the answer to SendSource.
func (c *Conn) ReceiveSource(kind shm.SourceKind, answer any) error {
	body, _, err := c.expect(shm.MsgSource)
	if err != nil {
		return err
	}
	got, text, err := shm.DecodeSource(body)
	if err != nil {
		return err
	}
	if got != kind {
		return fmt.Errorf("an answer of kind %d to a request of kind %d", got, kind)
	}
	var failed struct{ Error *SourceError }
	if err := json.Unmarshal(text, &failed); err != nil {
		return err
	}
	if failed.Error != nil {
		return failed.Error
	}
	return json.Unmarshal(text, answer)
}
