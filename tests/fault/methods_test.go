package fault

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// TestTransferMethods: inputs that do not reach a device by the method that is set reach it as without
// the setting, with the right rows, and EXPLAIN says why. A check says which methods there are.
func TestTransferMethods(t *testing.T) {
	const none = "simulated devices read inputs where they are"
	for method, want := range map[string]string{"auto": "", "zero-copy": "", "staged": "not staged: " + none} {
		for _, visible := range []string{"0", "0,1", "0:team,1:team"} {
			t.Run(method+" on "+visible, func(t *testing.T) {
				t.Setenv("CUDA_VISIBLE_DEVICES", visible)
				t.Setenv("GPUJOIND_CUDA_TRANSFER_METHOD", method)
				w := workerWorld(t)
				s := w.proxied(t, serial)
				for _, sql := range []string{exchanged, exchangedSum} {
					w.right(t, sql, <-ask(s, sql))
					if g := w.explained(t, s, sql); g.Text("Provider") != "cuda" || g.Text("Strategy Reason") != want {
						t.Errorf("ran on %s: %q", g.Text("Provider"), g.Text("Strategy Reason"))
					}
				}
				w.saysMethods(t, "not staged, pinned: "+none+"; zero-copy")
				w.unharmed(t, s)
			})
		}
	}
}

// saysMethods tests that a check says by which methods inputs reach the devices.
func (w *world) saysMethods(t *testing.T, want string) {
	t.Helper()
	out, err := w.Cluster.Output("check", "--socket", w.Daemon.Socket, "--provider", "cuda")
	if err != nil || !regexp.MustCompile(`(?m)^transfer methods +ok +`+regexp.QuoteMeta(want)+`$`).MatchString(out) {
		t.Errorf("%v: no %q in\n%s", err, want, out)
	}
	var check struct {
		Methods []struct {
			Provider string
			Methods  []struct{ Method, Reason string }
		} `json:"transfer_methods"`
	}
	out, err = w.Cluster.Output("check", "--json", "--socket", w.Daemon.Socket, "--provider", "cuda")
	if err == nil {
		err = json.Unmarshal([]byte(out), &check)
	}
	if err != nil || len(check.Methods) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, d := range check.Methods {
		var possible []string
		for _, m := range d.Methods {
			if m.Reason == "" {
				possible = append(possible, m.Method)
			}
		}
		if d.Provider != "cuda" || len(d.Methods) != 3 || strings.Join(possible, ", ") != "zero-copy" {
			t.Errorf("%+v", d)
		}
	}
}
