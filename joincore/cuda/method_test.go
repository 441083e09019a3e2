//go:build cuda

package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	trials "gpujoin/testsupport/columnartest"
	"gpujoin/testsupport/suite"
)

// byMethod returns a provider to which inputs are transferred by a method, if it has that.
func byMethod(t *testing.T, m links.Method) *Provider {
	t.Helper()
	return opened(t, Config{Budget: 256 << 20, Streams: 4, Method: m})
}

// By each method random trees, of texts and NULLs too, return the right rows. Where the device does
// not have the method, an execution that transfers something says why, and only there.
func TestTreesByEveryMethod(t *testing.T) {
	for _, m := range append(links.Methods(), "") {
		t.Run(m.Name(), func(t *testing.T) {
			p := byMethod(t, m)
			want := ""
			if why := p.platform.Unable(m); why != "" {
				want = fmt.Sprintf("not %s: %s", m.Name(), why)
				t.Log(want)
			}
			said := 0
			for seed := range uint64(60) {
				plan, inputs := suite.RandomTree(seed, 2+int(seed%3))
				for i, r := range inputs {
					inputs[i] = mapped(t, p, r)
				}
				stats := suite.Check(t, fmt.Sprintf("seed %d", seed), p, plan, inputs, 7, exec.Options{Device: device.Options{EmitRows: 5}})
				if stats.StrategyReason != "" {
					said++
				}
				if stats.StrategyReason != "" && stats.StrategyReason != want {
					t.Errorf("seed %d: %q, want %q", seed, stats.StrategyReason, want)
				}
			}
			if (said > 0) != (want != "") {
				t.Errorf("%d executions say %q", said, want)
			}
			if err := p.Lost(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The suite, whose inputs are not page-locked, by each method that needs no such memory.
func TestSuiteByMethod(t *testing.T) {
	for _, m := range []links.Method{links.Pageable, links.Dynamic, links.Coherence, links.Prefetch, links.Migration} {
		t.Run(m.Name(), func(t *testing.T) {
			p := &poisoned{Provider: byMethod(t, m)}
			if p.unable != "" {
				t.Skip(p.unable)
			}
			p.outOfCore.WindowRows = 10
			s := suite.Subject{Provider: p, Algorithms: algorithms, Thin: *thin * 24, Offset: trials.Source(t).Uint64N(1 << 32), OwnMemory: true}
			for _, part := range []func(*testing.T, suite.Subject){suite.Matrix, suite.Sizes} {
				part(t, s)
			}
		})
	}
}

// Each method brings the right bytes, and no others, of lengths around those of its buffers and of
// pages, between addresses of any alignment.
func TestMethodsCopyTheBytes(t *testing.T) {
	for _, m := range links.Methods() {
		t.Run(m.Name(), func(t *testing.T) {
			p := byMethod(t, m)
			if p.unable != "" {
				t.Skip(p.unable)
			}
			memory := mapping(t, 40<<20)
			release, err := p.Register(memory)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			for i := range memory {
				memory[i] = byte(i*i>>3 ^ i>>11)
			}
			d, err := p.Open(&suite.Arena{}, device.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			e := d.(*execution)
			w := e.workspace
			const around = 64
			at, err := w.Alloc(int64(len(memory)) + 2*around)
			if err != nil {
				t.Fatal(err)
			}
			half := int(w.upload.scratchBytes / 2)
			got := make([]byte, len(memory)+2*around)
			for _, n := range []int{0, 1, 4095, 4096, 4097, half - 1, half, half + 1, 2*half + 3, 5*half + 77, len(memory) - 13} {
				for _, from := range []int{0, 13} {
					if from+n > len(memory) {
						continue
					}
					want := bytes.Repeat([]byte{0xa5}, n+2*around)
					copy(want[around+1:], memory[from:from+n])
					err := errors.Join(
						w.upload.stream.Memset(at, 0xa5, int64(len(want))),
						w.copyInput(t.Context(), at+around+1, memory[from:from+n]),
						w.upload.stream.CopyOut(got[:len(want)], at),
						w.sync(),
					)
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(got[:len(want)], want) {
						t.Errorf("%d bytes from %d on: others came", n, from)
					}
				}
			}
			if why := e.TransferReason(); why != "" {
				t.Error(why)
			}
		})
	}
}

// The first reason is that of an execution, and no later one has it.
func TestReasonsOfOtherTransfers(t *testing.T) {
	r := suite.Keyed(300, func(row int) uint64 { return uint64(row) })
	run := func(p *Provider, inputs ...*joincore.Relation) string {
		return suite.Check(t, "", p, suite.PairPlan(r, r), inputs, 100, exec.Options{}).StrategyReason
	}
	for _, m := range []links.Method{links.Pinned, links.ZeroCopy} {
		p := byMethod(t, m)
		locked := mapped(t, p, r)
		if why := p.platform.Unable(m); why != "" {
			t.Skip(why)
		}
		if got, want := run(p, r, locked), fmt.Sprintf("not %s: the memory is not page-locked", m.Name()); got != want {
			t.Errorf("%s: %q, want %q", m, got, want)
		}
		if got := run(p, locked, locked); got != "" {
			t.Errorf("%s, all is page-locked: %q", m, got)
		}
	}
	p := byMethod(t, "")
	if got := run(p, r, r); got != "" || strings.Contains(p.Note(), "method") {
		t.Errorf("nothing is demanded: %q, %q", got, p.Note())
	}
	p.demanded, p.unable = links.Coherence, "there is no such link"
	if got := run(p, r, r); got != "not coherence: there is no such link" || !strings.Contains(p.Note(), "by the method coherence: there is no such link") {
		t.Errorf("%q, %q", got, p.Note())
	}
}

// The provider says of each method whether it has it.
func TestTransferMethods(t *testing.T) {
	p := byMethod(t, "")
	list := p.TransferMethods()
	if len(list) != len(links.Methods()) {
		t.Fatalf("%v", list)
	}
	for i, m := range links.Methods() {
		if list[i].Name != m.Name() || list[i].Reason != p.platform.Unable(m) {
			t.Errorf("%+v", list[i])
		}
		t.Logf("%s: %s", list[i].Name, list[i].Reason)
	}
}

var _ device.Transferring = (*Provider)(nil)
