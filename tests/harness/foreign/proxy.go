package foreign

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"gpujoin/tests/harness"
)

// Network is a connection to the source through a proxy that can fail.
type Network struct{ proxy *toxiproxy.Proxy }

// OpenNetwork starts a proxy in front of a source that listens on the loopback network.
func (w *World) OpenNetwork() (*Network, error) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // some toxics have a logger of their own
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, "source", net.JoinHostPort(w.Address, "0"), net.JoinHostPort(w.Address, fmt.Sprint(harness.Port)))
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("the proxy: %w", err)
	}
	return &Network{p}, nil
}

// Keywords are the options of a server that reaches the source through the proxy.
func (n *Network) Keywords() (map[string]string, error) {
	host, port, err := net.SplitHostPort(n.proxy.Listen)
	return map[string]string{"host": host, "port": port, "dbname": "postgres"}, err
}

// Stall keeps all connections open and passes nothing on, in both directions, until Resume.
func (n *Network) Stall() error {
	for _, direction := range []string{"upstream", "downstream"} {
		// A timeout of 0 never ends the connection.
		if err := n.add(fmt.Sprintf(`{"name":"stall %[1]s","type":"timeout","stream":"%[1]s","attributes":{"timeout":0}}`, direction)); err != nil {
			return err
		}
	}
	return nil
}

// Slow delays what the source sends and limits its rate, until Resume.
func (n *Network) Slow(delayMs, kilobytes int) error {
	if err := n.add(fmt.Sprintf(`{"name":"latency","type":"latency","attributes":{"latency":%d,"jitter":%d}}`, delayMs, delayMs/2)); err != nil {
		return err
	}
	return n.add(fmt.Sprintf(`{"name":"bandwidth","type":"bandwidth","attributes":{"rate":%d}}`, kilobytes))
}

func (n *Network) add(toxic string) error {
	if _, err := n.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		return fmt.Errorf("%s: %w", toxic, err)
	}
	return nil
}

// Resume ends what Stall and Slow began. What was lost in a stall is lost: connections end.
func (n *Network) Resume(ctx context.Context) { n.proxy.Toxics.ResetToxics(ctx) }

// Cut ends all connections; new ones are refused until Restore.
func (n *Network) Cut() { n.proxy.Stop() }

// Restore accepts connections again.
func (n *Network) Restore() error { return n.proxy.Start() }

// Close ends the proxy.
func (n *Network) Close() { n.proxy.Stop() }
