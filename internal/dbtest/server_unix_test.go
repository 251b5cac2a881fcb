//go:build unix

package dbtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hansardlog/hansard/internal/pgserver"
)

const ownerVar = "HANSARD_DBTEST_OWNER"

// TestOwner is the process that owns a server, when TestServerEndsWithItsOwner
// runs it: it names the server's process and directory, and lives until told.
func TestOwner(t *testing.T) {
	if os.Getenv(ownerVar) == "" {
		t.Skip("only as a child of another test")
	}
	conn := connect(t, PostgresServer(t))
	var dir string
	if err := conn.QueryRow(t.Context(), "SHOW data_directory").Scan(&dir); err != nil {
		t.Fatal(err)
	}
	pid, err := os.ReadFile(dir + "/postmaster.pid")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(pid), "\n")
	fmt.Println("server", first, strings.TrimSuffix(dir, "/data"))
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Error(err)
	}
}

func TestServerEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	if _, err := pgserver.Find(); err != nil {
		refuse(t, err, os.Getenv(requireVar) != "" && os.Getenv(serverVar) == "")
	}
	tests := []struct {
		name string
		end  func(owner *exec.Cmd, stdin io.Closer) error
	}{
		{"killed", func(owner *exec.Cmd, _ io.Closer) error {
			if err := owner.Process.Kill(); err != nil {
				return err
			}
			if err := owner.Wait(); err == nil {
				return errors.New("the owner ended by itself")
			}
			return nil
		}},
		{"done", func(owner *exec.Cmd, stdin io.Closer) error {
			stdin.Close()
			return owner.Wait()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			owner := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOwner$")
			owner.Env = append(os.Environ(), ownerVar+"=1", serverVar+"=")
			stdin, err := owner.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := owner.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := owner.Start(); err != nil {
				t.Fatal(err)
			}
			var pid int
			var dir string
			lines := bufio.NewScanner(stdout)
			for lines.Scan() {
				if _, err := fmt.Sscanf(lines.Text(), "server %d %s", &pid, &dir); err == nil {
					break
				}
				t.Log(lines.Text())
			}
			if pid == 0 || syscall.Kill(pid, 0) != nil {
				t.Fatalf("no server: process %d", pid)
			}
			if err := tt.end(owner, stdin); err != nil {
				t.Fatal(err)
			}
			deadline := time.Now().Add(30 * time.Second)
			for {
				running := !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
				_, err := os.Stat(dir)
				if !running && errors.Is(err, os.ErrNotExist) {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("after the end of the owner: server running %v, stat of its directory: %v", running, err)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
}
