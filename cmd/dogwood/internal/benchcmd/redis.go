package benchcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/bench/redis"
)

// spawnRedis is the server that --compare-redis starts.
const spawnRedis = "redis"

// redisArgs make Redis keep its promise for a write as dogwood does: it is in a file that
// was synced before it is acknowledged. Nothing else disturbs it: no snapshots, and the file is
// not rewritten.
var redisArgs = []string{"--bind", "127.0.0.1", "--appendonly", "yes", "--appendfsync", "always",
	"--save", "", "--auto-aof-rewrite-percentage", "0", "--daemonize", "no"}

var errNoRedis = errors.New(`--compare-redis needs redis-server, which is not in the PATH; on Debian and Ubuntu, "apt-get install redis-server" installs it`)

// startRedis starts Redis in the server's directory and waits until it serves.
func (s *spawned) startRedis(ctx context.Context) error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return errNoRedis
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	var out firstBytes // Redis logs to its standard output
	args := append([]string{"redis-server", "--port", strconv.Itoa(port), "--dir", s.dir}, redisArgs...)
	s.cmd = &exec.Cmd{Path: path, Args: args, Stdout: &out, Stderr: &s.stderr, SysProcAttr: ownGroup()}
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if err := awaitRedis(ctx, address); err != nil {
		_ = s.end() // it has ended, or cannot be used
		return fmt.Errorf("start redis-server: %w\n%s", err, strings.TrimSpace(out.String()))
	}
	s.target.URL, s.target.PID = redis.Scheme+address, s.cmd.Process.Pid
	return nil
}

// awaitRedis waits until a server answers. It says nothing when it begins to listen.
func awaitRedis(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, spawnTimeout)
	defer cancel()
	for {
		err := pingRedis(ctx, address)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(redisPause):
		}
	}
}

// redisPause is between attempts to connect.
const redisPause = 20 * time.Millisecond

func pingRedis(ctx context.Context, address string) error {
	c, err := redis.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, c.Close)()
	return c.Ping()
}

// freePort returns a port that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// firstBytes keeps the beginning of what a process prints, in which it says why it fails.
type firstBytes struct{ bytes.Buffer }

// maxFirstBytes bounds what firstBytes keeps.
const maxFirstBytes = 8 << 10

func (b *firstBytes) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxFirstBytes-b.Len())])
	return len(p), nil
}
