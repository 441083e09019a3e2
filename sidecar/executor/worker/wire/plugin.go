package wire

import (
	"context"
	"errors"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Version of the protocol. Daemon and worker of different ones refuse each
// other at the handshake.
const Version = 1

// Name of the one service of a worker.
const Name = "worker"

// Handshake tells a worker that a daemon has started it.
var Handshake = plugin.HandshakeConfig{
	MagicCookieKey: "GPUJOIN_WORKER", MagicCookieValue: "started-by-gpujoind",
}

// HandoverFD is the descriptor on which a worker receives extents.
const HandoverFD = 3

// Plugin connects both ends through go-plugin. Worker is set in the worker.
type Plugin struct {
	plugin.NetRPCUnsupportedPlugin
	Worker WorkerServer
}

// Plugins is what NewClient and Serve of go-plugin take.
func Plugins(s WorkerServer) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{Version: {Name: &Plugin{Worker: s}}}
}

// GRPCServer implements plugin.GRPCPlugin.
func (p *Plugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	if p.Worker == nil {
		return errors.New("no server")
	}
	RegisterWorkerServer(s, p.Worker)
	return nil
}

// GRPCClient implements plugin.GRPCPlugin.
func (p *Plugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return NewWorkerClient(c), nil
}
