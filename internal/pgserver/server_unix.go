//go:build unix

package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// A socket's path is at most 103 bytes on the strictest systems; this much of it
// follows the directory.
const (
	maxSocketPath = 103
	socketName    = "/.s.PGSQL.5432"
)

// script makes a cluster in $2 and serves it with the binaries in $1 until its
// standard input ends, which is when the process that holds the other end does
// so or dies. It then removes the directory.
//
// The locale is that of the language in $3, if any, where the server has ICU,
// else C. What follows are arguments of the server. A running server takes TERM as "wait for the clients" and INT as "do not"; one that has
// just been forked ignores INT, as what a shell starts with & does, but dies of
// TERM. So it gets both.
const script = `
init() {
	rm -rf -- "$dir/data"
	"$bin/initdb" -D "$dir/data" -U postgres --auth=trust --encoding=UTF8 --locale=C --no-sync "$@"
}
bin=$1 dir=$2 language=$3
shift 3
exec 3<&0 </dev/null
{ test "$language" && init --locale-provider=icu --icu-locale="$language"; } || init || exit
"$bin/postgres" -D "$dir/data" -k "$dir" -p 5432 -c listen_addresses= "$@" 3<&- &
server=$!
{
	read -r _ <&3
	kill -TERM "$server"
	kill -INT "$server"
} 2>/dev/null &
watcher=$!
wait "$server"
code=$?
kill "$watcher" 2>/dev/null
cd / && rm -rf -- "$dir"
exit "$code"
`

// Start makes a cluster and starts a server on it, which ends with stop or with
// this process, however that ends, and leaves nothing. Where PostgreSQL is not
// installed the error matches [ErrNone].
func Start(c Config) (dsn string, stop func() error, err error) {
	bin, err := Find()
	if err != nil {
		return "", nil, err
	}
	return startFrom(bin, c)
}

func startFrom(bin string, c Config) (dsn string, stop func() error, err error) {
	cred, err := credential()
	if err != nil {
		return "", nil, err
	}
	dir, err := makeDir(cred)
	if err != nil {
		return "", nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}

	args := []string{"-c", script, "pgserver", bin, dir, c.Language}
	for _, s := range c.Settings {
		args = append(args, "-c", s)
	}
	cmd := exec.Command("/bin/sh", args...)
	// Neither stream is this process's: go test waits until all holders of
	// those have closed them.
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	// A group of its own, so that an interrupt from the terminal ends this
	// process first and the server by way of the pipe.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: cred}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, errors.Join(err, log.Close(), os.RemoveAll(dir))
	}
	if err := cmd.Start(); err != nil {
		return "", nil, errors.Join(err, log.Close(), os.RemoveAll(dir))
	}

	exited := make(chan struct{})
	var exit error
	go func() {
		exit = cmd.Wait()
		close(exited)
	}()
	stop = func() error {
		defer log.Close()
		pipe.Close()
		select {
		case <-exited:
		case <-time.After(time.Minute):
			return fmt.Errorf("still running after a minute\n%s", tail(log))
		}
		// The directory itself goes here if its parent lets only us remove it.
		return errors.Join(exit, os.RemoveAll(dir))
	}
	dsn = "host=" + quote(dir) + " port=5432 user=postgres dbname=postgres sslmode=disable"
	if err := await(dsn, exited); err != nil {
		err = fmt.Errorf("%w\n%s", err, tail(log))
		return "", nil, errors.Join(err, stop())
	}
	return dsn, stop, nil
}

// await waits until the server takes connections or has exited.
func await(dsn string, exited <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, dsn)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-exited:
			return errors.New("the server exited")
		case <-ctx.Done():
			return fmt.Errorf("no connection within a minute: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// credential returns whom the server runs as: nil for the user of this process,
// unless that is root, as whom PostgreSQL refuses to run.
func credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is neither a user postgres nor nobody: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// makeDir makes a directory that the server's user can reach and whose name
// leaves room for a socket: in the usual place, or where every user may write.
func makeDir(cred *syscall.Credential) (string, error) {
	var errs []error
	for _, parent := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		dir, err := makeDirIn(parent, cred)
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

func makeDirIn(parent string, cred *syscall.Credential) (string, error) {
	dir, err := os.MkdirTemp(parent, "hansard-pg-")
	if err != nil {
		return "", err
	}
	if err := usable(dir, cred); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", dir, err), os.RemoveAll(dir))
	}
	return dir, nil
}

func usable(dir string, cred *syscall.Credential) error {
	if n := len(dir) + len(socketName); n > maxSocketPath {
		return fmt.Errorf("a socket in it has %d bytes, at most %d work everywhere", n, maxSocketPath)
	}
	if cred == nil {
		return nil
	}
	if err := os.Chown(dir, int(cred.Uid), int(cred.Gid)); err != nil {
		return err
	}
	probe := exec.Command("/bin/sh", "-c", `test -x "$1" -a -w "$1"`, "pgserver", dir)
	probe.Dir = "/"
	probe.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	if err := probe.Run(); err != nil {
		return fmt.Errorf("out of reach for user %d: %w", cred.Uid, err)
	}
	return nil
}

// quote makes a value of a key=value DSN.
func quote(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}

// tail returns the end of the server's log. It reads the open file: the script
// may have removed its name.
func tail(log *os.File) string {
	const most = 4 << 10
	info, err := log.Stat()
	if err != nil {
		return err.Error()
	}
	from := max(0, info.Size()-most)
	text, err := io.ReadAll(io.NewSectionReader(log, from, most))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
