// Package cli implements the command line of gpujoind.
package cli
