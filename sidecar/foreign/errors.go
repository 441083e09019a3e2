package foreign

import (
	"context"
	"encoding/json"
	"errors"

	"gpujoin/sidecar/source"
)

// errorJSON is the answer to a request that failed.
func errorJSON(err error) []byte {
	e := asError(err)
	text, _ := json.Marshal(map[string]any{"error": map[string]string{ // strings: no error
		"sqlstate": e.SQLState, "message": e.Message, "detail": e.Detail, "hint": e.Hint}})
	return text
}

// asError makes an error one that PostgreSQL can show.
func asError(err error) *source.Error {
	var own *source.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, context.DeadlineExceeded):
		return &source.Error{SQLState: "57014", Message: "the source did not answer in time"}
	case errors.Is(err, context.Canceled):
		return &source.Error{SQLState: "57014", Message: "the request was given up"}
	}
	return &source.Error{SQLState: "XX000", Message: "internal error of gpujoind", Detail: err.Error()}
}

// explained returns the message of an error with its detail, in one line, and its hint.
func explained(err error) (reason, hint string) {
	e := asError(err)
	if reason = e.Message; e.Detail != "" {
		reason += ": " + e.Detail
	}
	return reason, e.Hint
}
