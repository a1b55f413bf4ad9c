package databasetest_test

import (
	"database/sql"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/stretchr/testify/require"
)

// startPostgreSQL starts a server of its own in a folder, and returns how it is reached, by a socket alone. Without its
// programs the test is skipped, but in CI it fails.
func startPostgreSQL(t testing.TB) (dsn string) {
	t.Helper()
	programs := postgreSQLPrograms()
	if programs == "" {
		const missing = "the programs initdb and postgres of PostgreSQL are missing: apt-get install postgresql"
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip("SKIPPED, nothing was tested with PostgreSQL: " + missing)
	}
	folder, err := os.MkdirTemp("", "pg") //nolint:usetesting // the path of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // it is in the folder for temporary files
	as := postgreSQLUser(t, folder)
	run := func(program string, arguments ...string) *exec.Cmd {
		command := exec.Command(filepath.Join(programs, program), arguments...)
		command.Dir, command.Env, command.SysProcAttr = folder, []string{"LC_ALL=C", "TZ=UTC"}, as
		return command
	}
	data := filepath.Join(folder, "data")
	output, err := run("initdb", "--pgdata", data, "--username", "test", "--auth", "trust", "--no-sync").CombinedOutput()
	require.NoError(t, err, "%s", output)
	server := run("postgres", "-D", data, "-c", "listen_addresses=", "-c", "unix_socket_directories="+folder)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT) // it has ended already if this fails
		_ = server.Wait()
	})
	dsn = "host=" + folder + " user=test dbname=postgres"
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	until(t, "PostgreSQL is ready", func() bool { return db.PingContext(t.Context()) == nil })
	return dsn
}

// postgreSQLPrograms returns the folder of the latest PostgreSQL, "" for none.
func postgreSQLPrograms() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is valid
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(slices.Max(found))
}

// postgreSQLUser returns how to run programs that refuse to run as root, and gives them the folder.
func postgreSQLUser(t testing.TB, folder string) *syscall.SysProcAttr {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	require.NoError(t, err)
	id, err := strconv.ParseUint(nobody.Uid, 10, 32)
	require.NoError(t, err)
	require.NoError(t, os.Chown(folder, int(id), -1))
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(os.Getegid())}}
}

// testTimeout bounds every wait for something that has to come.
const testTimeout = time.Minute

// until tries until something is the case.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(testTimeout); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never happens that %s", what)
		}
	}
}
