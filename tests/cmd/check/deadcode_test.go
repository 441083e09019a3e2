package main

import "testing"

func TestDeadCodeIsJudged(t *testing.T) {
	t.Parallel()
	exempt := map[string]string{"a/": "a reason", "b/c.go:F": "a reason"}
	for _, c := range []struct{ name, out, want string }{
		{"all exempt", "a/x.go:1:2: unreachable func: G\nb/c.go:3:4: unreachable func: F\n", ""},
		{"another function", "a/x.go:1:2: unreachable func: G\nb/c.go:3:4: unreachable func: F\nb/c.go:9:4: unreachable func: T.H\n",
			"b/c.go: no main reaches T.H: remove it, or exempt it in tests/cmd/check/deadcode.go with a reason\n"},
		{"an exemption too many", "a/x.go:1:2: unreachable func: G\n", "tests/cmd/check/deadcode.go exempts b/c.go:F, which is reached or gone\n"},
		{"another program", "a/x.go:1:2: unreachable func: G\nb/c.go:3:4: unreachable func: F\npanic\n", "deadcode said: panic\n"},
	} {
		if got := judgeDead(c.out, exempt); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
