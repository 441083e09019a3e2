package cli

import (
	"context"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notify reports state to systemd if systemd started the daemon.
func notify(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("could not notify systemd", "error", err)
	}
}

// watchdog tells systemd that the daemon lives, as long as its heartbeat advances, until
// ctx ends. systemd restarts a service of which it hears nothing for the time that its
// unit sets (WatchdogSec); without such a time watchdog returns at once.
func watchdog(ctx context.Context, beats func() uint64, log *slog.Logger) {
	timeout, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("could not find the time of systemd's watchdog", "error", err)
	}
	if timeout == 0 {
		return
	}
	tick := time.NewTicker(timeout / 4)
	defer tick.Stop()
	for last := uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := beats(); now != last {
			last = now
			notify(log, daemon.SdNotifyWatchdog)
		}
	}
}
