package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// loadTPCDS loads DuckDB's extension with TPC-DS. The build links it as a shared
// library, next to this program; DuckDB loads only files that end with metadata.
func loadTPCDS(ctx context.Context, db *sql.DB) (err error) {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	library, err := os.ReadFile(filepath.Join(filepath.Dir(program), "tpcds.so"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "duckdb")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var version, platform string
	if err := db.QueryRowContext(ctx, "select library_version from pragma_version()").Scan(&version); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "select platform from pragma_platform()").Scan(&platform); err != nil {
		return err
	}
	path := filepath.Join(dir, "tpcds.duckdb_extension")
	if err := os.WriteFile(path, append(library, metadata(version, platform)...), 0o644); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf("load '%s'", path))
	return err
}

// loadScanner loads DuckDB's extension that reads tables of PostgreSQL: the file, which its
// makers have signed, lies next to this program.
func loadScanner(ctx context.Context, db *sql.DB) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(program), "postgres_scanner.duckdb_extension")
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("the extension is missing; run make duckdb: %w", err)
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf("load '%s'", path))
	return err
}

// metadata returns the end of an extension's file, for a version and platform of
// DuckDB: the head of a custom section of WebAssembly, eight fields of 32 bytes,
// the last one first, and an empty signature.
func metadata(version, platform string) []byte {
	const (
		customSection = "\x00\x93\x04\x10duckdb_signature\x80\x04"
		magic         = "4"
		signature     = 256
	)
	var b bytes.Buffer
	b.WriteString(customSection)
	for _, field := range []string{"", "", "", "CPP", version, version, platform, magic} {
		b.WriteString(field)
		b.Write(make([]byte, 32-len(field)))
	}
	b.Write(make([]byte, signature))
	return b.Bytes()
}
