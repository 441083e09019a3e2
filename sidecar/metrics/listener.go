package metrics

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"gpujoin/sidecar"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Listener serves metrics by HTTP at /metrics.
type Listener struct {
	server http.Server
	done   chan struct{}
}

// Limits of a client: it can neither hold the daemon's memory nor its processor.
const (
	scrapes      = 4 // at a time
	slowScrape   = 10 * time.Second
	slowClient   = 30 * time.Second
	headersBytes = 16 << 10
)

// Listen serves the metrics of a status at an address until Close is called.
func Listen(address string, status func() *sidecar.Status, log *slog.Logger) (*Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(New(status), promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapes, Timeout: slowScrape, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}))
	l := &Listener{done: make(chan struct{}), server: http.Server{
		Handler: mux, ReadTimeout: slowClient, WriteTimeout: slowClient, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: headersBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	go func() {
		defer close(l.done)
		if err := l.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are not served any more", "address", address, "error", err)
		}
	}()
	log.Info("serving metrics", "address", listener.Addr().String())
	return l, nil
}

// Close ends the listener and its connections.
func (l *Listener) Close() {
	_ = l.server.Close() // nothing waits for it
	<-l.done
}
