package dbtest

import (
	"path/filepath"
	"strings"
	"testing"
)

// SQLite returns the path of a database file that does not exist yet, in a
// directory of the test's own.
func SQLite(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "hansard.db")
}

// SQLiteDSN returns the DSN of a file for the driver github.com/mattn/go-sqlite3
// (gorm.io/driver/sqlite), with a write-ahead log, a busy timeout of 10 s
// and no syncing to disk: what a killed process wrote stays, and most of what
// tests wait for are disks.
// Each of params is one more name=value, such as _txlock=immediate.
func SQLiteDSN(path string, params ...string) string {
	return fileURI(path, append([]string{"_journal_mode=WAL", "_synchronous=OFF", "_busy_timeout=10000"}, params...))
}

// PureSQLiteDSN is [SQLiteDSN] for the driver modernc.org/sqlite
// (github.com/glebarez/sqlite), which needs no cgo. Its parameters have other
// names: _pragma=foreign_keys(1) for a pragma, _txlock=immediate as there.
func PureSQLiteDSN(path string, params ...string) string {
	return fileURI(path, append([]string{"_pragma=journal_mode(WAL)", "_pragma=synchronous(OFF)", "_pragma=busy_timeout(10000)"}, params...))
}

// fileURI escapes what has a meaning in a URI and leaves the rest to SQLite.
func fileURI(path string, params []string) string {
	path = filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" {
		path = "/" + path
	}
	path = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	return "file:" + path + "?" + strings.Join(params, "&")
}
