// Package control is the protocol between the daemon and a worker: the messages of
// worker.proto, the encoding of rows, statistics and errors, and the passing of
// extents. A plan travels as the job that the extension has sent. Decoding validates
// everything that the peer sent.
//
// Extents travel on a socket pair of their own, of which the worker inherits one
// end. Each packet carries the extents' descriptors as ancillary data. The worker
// sends nothing there. Either side detects the end of the other by the end of the
// socket.
//
// The generated files are checked in, so that a build needs no generator. To
// regenerate them with Debian's protobuf-compiler:
//
//	go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
//	go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0
//	go generate ./sidecar/worker/control
package control

import (
	"context"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative worker.proto

// Version is the protocol's version. A daemon and a worker with different
// versions refuse each other at the handshake.
const Version = 4

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
	RegisterWorkerServer(s, p.Worker)
	return nil
}

// GRPCClient implements plugin.GRPCPlugin.
func (p *Plugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return NewWorkerClient(c), nil
}
