#!/bin/sh
# Prints the first Go command that can build this module: 1.21 or newer, because
# older ones cannot download the toolchain that go.mod requires.
for go in ${GO:+"$GO"} go /usr/local/go/bin/go /usr/lib/go/bin/go; do
    version=$(GOTOOLCHAIN=local "$go" env GOVERSION 2>/dev/null) || continue
    minor=${version#go1.}
    minor=${minor%%[!0-9]*}
    if [ -n "$minor" ] && [ "$minor" -ge 21 ]; then
        echo "$go"
        exit 0
    fi
done
exit 1
