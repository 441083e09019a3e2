package cli

import (
	"context"
	"log/slog"
	"os"

	"gpujoin/sidecar/config"
)

// reloader reads the configuration again when it is told to.
type reloader struct {
	current *config.Config // in force
	load    func() (*config.Config, error)
	level   *slog.LevelVar // of the log
	adjust  func(config.Config)
	log     *slog.Logger
}

// run reloads at each hangup until ctx ends.
func (r *reloader) run(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			r.reload()
		}
	}
}

// reload puts those changed settings into force that a running daemon can change. A
// configuration with an error changes nothing.
func (r *reloader) reload() {
	found, err := r.load()
	if err != nil {
		r.log.Error("could not reload the configuration; the old one stays in force", "error", err)
		return
	}
	next, changed, later := r.current.Adjust(found)
	r.current = next
	r.level.Set(levels[next.LogLevel])
	r.adjust(*next)
	notify(r.log, "STATUS=configuration reloaded")
	r.log.Info("configuration reloaded", "config", found.File, "changed", changed, "need a restart", later)
}
