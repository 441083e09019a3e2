// Package version has the version of this release. The file VERSION is its only source:
// the Makefiles read it for the extension's control file, the names of its scripts, the
// packages and the archive.
package version

import (
	_ "embed"
	"strings"
)

//go:embed VERSION
var text string

// Text is the version, such as 0.2.0.
var Text = strings.TrimSpace(text)
