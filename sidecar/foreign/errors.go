package foreign

import (
	"context"
	"encoding/json"
	"errors"

	"gpujoin/sidecar/source"
)

// errorJSON is the answer to a request that failed.
func errorJSON(err error) []byte {
	text, _ := json.Marshal(map[string]*errorAnswer{"error": answerOf(err)}) // strings: no error
	return text
}

// errorAnswer is an error as answers have it.
type errorAnswer struct {
	SQLState string `json:"sqlstate"`
	Message  string `json:"message"`
	Detail   string `json:"detail"`
	Hint     string `json:"hint"`
}

func answerOf(err error) *errorAnswer {
	e := asError(err)
	return &errorAnswer{e.SQLState, e.Message, e.Detail, e.Hint}
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

// Explain returns the SQLSTATE and the text of an error of a foreign server; false: it is another
// one.
func Explain(err error) (sqlstate, text string, ok bool) {
	var own *source.Error
	if !errors.As(err, &own) {
		return "", "", false
	}
	return own.SQLState, own.Text(), true
}

// explained returns the message of an error with its detail, in one line, and its hint.
func explained(err error) (reason, hint string) {
	e := asError(err)
	if reason = e.Message; e.Detail != "" {
		reason += ": " + e.Detail
	}
	return reason, e.Hint
}
