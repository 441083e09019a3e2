package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	comment = regexp.MustCompile(`(?s)<!--.*?-->`)
	span    = regexp.MustCompile("`[^`\n]+`")
	link    = regexp.MustCompile(`\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// prose is a page without its blocks of code.
func prose(t *testing.T, page string) string {
	t.Helper()
	return comment.ReplaceAllString(fence.ReplaceAllString(read(t, page), ""), "")
}

// pages returns all pages of the repository: those of users, and all.
func pages(t *testing.T) (users, all []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	for _, pattern := range []string{"README.md", "docs/*.md", "*.md", "docs/internals/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		for _, path := range found {
			name, _ := filepath.Rel(root, path)
			if slices.Contains(all, name) {
				continue
			}
			all = append(all, name)
			if pattern == "README.md" || pattern == "docs/*.md" {
				users = append(users, name)
			}
		}
	}
	return users, all
}

// anchors returns the fragments of a page's headings, as forges make them.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, title := range all(heading.String(), prose(t, page)) {
		title = link.ReplaceAllString(title, "$1")
		anchor := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, title)
		out[anchor] = true
	}
	return out
}

// Every link to a page or file of the repository resolves, and so does its anchor.
func TestLinks(t *testing.T) {
	_, everything := pages(t)
	seen := 0
	for _, page := range everything {
		for _, m := range link.FindAllStringSubmatch(span.ReplaceAllString(prose(t, page), "x"), -1) {
			target, anchor, _ := strings.Cut(m[2], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			seen++
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(filepath.Join("..", "..", path)); err != nil {
				t.Errorf("%s: %s does not exist", page, m[2])
			} else if anchor != "" && !anchors(t, path)[anchor] {
				t.Errorf("%s: %s has no heading %s", page, path, anchor)
			}
		}
	}
	if seen < 100 {
		t.Errorf("found only %d links", seen)
	}
}

// In the users' pages, every mention of a page or a file of the repository is a link.
func TestMentionsAreLinks(t *testing.T) {
	users, _ := pages(t)
	files := repositoryFiles(t)
	for _, page := range users {
		text := link.ReplaceAllString(prose(t, page), "")
		for _, name := range span.FindAllString(text, -1) {
			name = strings.Trim(name, "`")
			if files[name] || strings.HasSuffix(name, ".md") {
				t.Errorf("%s: `%s` is not a link", page, name)
			}
		}
		for _, name := range all(`([\w/-]+\.md)\b`, span.ReplaceAllString(text, "")) {
			t.Errorf("%s: %s is not a link", page, name)
		}
	}
	if len(files) < 500 {
		t.Errorf("found only %d files", len(files))
	}
}

// repositoryFiles returns all files and folders that have a slash in their path.
func repositoryFiles(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "build" || strings.HasPrefix(name, ".git")):
			return filepath.SkipDir
		case strings.Contains(name, "/"):
			out[name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
