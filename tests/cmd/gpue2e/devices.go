package main

import (
	"context"

	"gpujoin/tests/harness"
)

// whyNoDevice says why the session's daemon has no GPU to join on, or nothing
// where it has one.
func whyNoDevice(ctx context.Context, s *harness.Session) (string, error) {
	return s.One(ctx, `
		select case when bool_or(state = 'ready') then ''
			else coalesce(string_agg(coalesce(reason, state), '; '), 'the daemon knows no CUDA device') end
		from gpujoin.devices where provider = 'cuda'`)
}
