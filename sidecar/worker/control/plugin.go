package control

import (
	"context"
	"errors"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Version is the protocol's version. A daemon and a worker with different
// versions refuse each other at the handshake.
const Version = 3

// Name is the name of the worker's only service.
const Name = "worker"

// Handshake identifies a daemon to the worker that it starts.
var Handshake = plugin.HandshakeConfig{
	MagicCookieKey: "GPUJOIN_WORKER", MagicCookieValue: "started-by-gpujoind",
}

// HandoverFD is the descriptor on which a worker receives extents.
const HandoverFD = 3

// Plugin connects both ends through go-plugin. Only the worker sets Worker.
type Plugin struct {
	plugin.NetRPCUnsupportedPlugin
	Worker WorkerServer
}

// Plugins returns the plugin sets for go-plugin's NewClient and Serve.
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
