package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// dsn names a database.
type dsn struct {
	flag   string // where it was given
	driver string // postgres or sqlite
	text   string // a URL or settings of PostgreSQL; a file or file: URI of SQLite
}

// settings is the form of PostgreSQL that is no URL.
var settings = regexp.MustCompile(`(^|\s)(host|hostaddr|port|dbname|user|service)\s*=`)

// parseDSN tells the database by the driver, if there is one, or by the text. An
// error does not repeat the text: there may be a password in it.
func parseDSN(flag, text, driver string) (dsn, error) {
	d := dsn{flag: flag, driver: driver, text: text}
	if text == "" {
		return d, fmt.Errorf("%s is missing", flag)
	}
	rest, named := strings.CutPrefix(text, "sqlite:")
	rest = strings.TrimPrefix(rest, "//")
	switch driver {
	case "postgres", "sqlite":
	case "":
		switch {
		case strings.HasPrefix(text, "postgres://"), strings.HasPrefix(text, "postgresql://"), settings.MatchString(text):
			d.driver = "postgres"
		case named, strings.HasPrefix(text, "file:"), isFileName(text):
			d.driver = "sqlite"
		default:
			return d, fmt.Errorf("%s: neither postgres://... nor sqlite:FILE; say which with %s-driver", flag, flag)
		}
	default:
		return d, fmt.Errorf("%s-driver: %q is neither postgres nor sqlite", flag, driver)
	}
	if d.driver == "sqlite" && named {
		d.text = rest
	}
	return d, nil
}

func isFileName(text string) bool {
	switch filepath.Ext(text) {
	case ".db", ".sqlite", ".sqlite3", ".db3":
		return !strings.Contains(text, "://")
	}
	return false
}

// openSource opens the database for reading.
func (d dsn) openSource() (*gorm.DB, func() error, error) {
	dialector := postgres.Open(d.text)
	if d.driver == "sqlite" {
		if !d.isURI() {
			if _, err := os.Stat(d.text); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", d.flag, err)
			}
		}
		dialector = sqlite.Open(d.uri(param{"mode=", "mode=rw"}, param{"query_only", "_pragma=query_only(1)"}))
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard, SkipDefaultTransaction: true})
	if err != nil {
		if db != nil {
			if pool, poolErr := db.DB(); poolErr == nil {
				err = errors.Join(err, pool.Close())
			}
		}
		return nil, nil, fmt.Errorf("%s: %w", d.flag, err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", d.flag, err)
	}
	return db, pool.Close, nil
}

// destination returns how to open the database for writing. A new file gets a
// write-ahead log, which is what programs on it will want; that of a file which
// exists is its owner's choice.
func (d dsn) destination() gorm.Dialector {
	if d.driver == "postgres" {
		return postgres.Open(d.text)
	}
	if !d.isURI() {
		if _, err := os.Stat(d.text); errors.Is(err, os.ErrNotExist) {
			return sqlite.Open(d.uri(param{"journal_mode", "_pragma=journal_mode(WAL)"}))
		}
	}
	return sqlite.Open(d.uri())
}

func (d dsn) isURI() bool { return strings.HasPrefix(d.text, "file:") }

// uri returns the URI of a SQLite file with these parameters, if they are not in
// it already, and with patience for other writers.
func (d dsn) uri(params ...param) string {
	uri := d.text
	if !d.isURI() {
		path := filepath.ToSlash(uri)
		if filepath.VolumeName(uri) != "" {
			path = "/" + path
		}
		uri = "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	}
	for _, p := range append(params, param{"busy_timeout", "_pragma=busy_timeout(10000)"}) {
		if _, query, ok := strings.Cut(uri, "?"); !ok {
			uri += "?" + p.text
		} else if !strings.Contains(query, p.name) {
			uri += "&" + p.text
		}
	}
	return uri
}

// param is a parameter of a URI; a URI with its name has another one already.
type param struct{ name, text string }

// Passwords in the forms of PostgreSQL, as they are written.
var passwords = []*regexp.Regexp{
	regexp.MustCompile(`(?i)password\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]+)`),
	regexp.MustCompile(`://[^:/@]*:([^@/]*)@`),
}

// clean takes what is secret in the DSN out of a message.
func (d dsn) clean(message string) string {
	if d.driver != "postgres" {
		return message
	}
	message = strings.ReplaceAll(message, d.text, "the DSN")
	var secrets []string
	if u, err := url.Parse(d.text); err == nil && u.User != nil {
		secret, _ := u.User.Password()
		secrets = append(secrets, secret)
	}
	for _, form := range passwords {
		for _, match := range form.FindAllStringSubmatch(d.text, -1) {
			secrets = append(secrets, match[1], strings.Trim(match[1], "'"))
		}
	}
	for _, secret := range secrets {
		if secret != "" {
			message = strings.ReplaceAll(message, secret, "***")
		}
	}
	return message
}
