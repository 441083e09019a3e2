// Package cli is the command line of gpujoind.
package cli
