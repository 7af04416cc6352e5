package dogwood_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/modelform"
	"github.com/dogwooddb/dogwood/internal/tier"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// A modelProcess is the real server in a process of its own. It ends before some of the
// steps, in order or as a power cut would end it, and is started again; its clients
// connect again by themselves, and those who listen go on. DOGWOOD_MODELS_SEED repeats
// a run.
type modelProcess struct {
	t           *testing.T
	binary, dir string
	rnd         *rand.Rand
	port        string // 0 before the first start
	cmd         *exec.Cmd
}

// modelRestarts is one in how many steps begins with a restart.
const modelRestarts = 10

// modelProcesses returns what makes such homes, of a binary that is built once for a test
// and its subtests.
func modelProcesses(t *testing.T) func(*testing.T) modelHome {
	dir := t.TempDir()
	binary := sync.OnceValues(func() (string, error) {
		if path := os.Getenv("DOGWOOD_BIN"); path != "" {
			return path, nil
		}
		path := filepath.Join(dir, "dogwood")
		if out, err := exec.Command("go", "build", "-o", path, "../cmd/dogwood").CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
		return path, nil
	})
	return func(t *testing.T) modelHome {
		tier.Need(t, tier.Full)
		path, err := binary()
		want(t, err)
		return newModelProcess(t, path)
	}
}

func newModelProcess(t *testing.T, binary string) *modelProcess {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("DOGWOOD_MODELS_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("DOGWOOD_MODELS_SEED=%d", seed)
	p := &modelProcess{t: t, binary: binary, dir: t.TempDir(), rnd: rand.New(rand.NewPCG(seed, 0)), port: "0"}
	p.start()
	t.Cleanup(func() { p.end(syscall.SIGKILL) })
	return p
}

func (p *modelProcess) start() {
	p.t.Helper()
	p.cmd = exec.Command(p.binary, "dev", "--host", "127.0.0.1", "--port", p.port, "--data", p.dir)
	out, err := p.cmd.StdoutPipe()
	want(p.t, err)
	want(p.t, p.cmd.Start())
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if _, port, found := strings.Cut(line, "Listening on http://127.0.0.1:"); found {
			p.port = strings.TrimSpace(port)
			break
		}
		if err != nil {
			p.t.Fatalf("the server does not say where it listens: %v", err)
		}
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // ends with the process
}

func (p *modelProcess) end(signal os.Signal) {
	p.t.Helper()
	want(p.t, p.cmd.Process.Signal(signal))
	_ = p.cmd.Wait() // says how it ended, which was asked for
}

func (p *modelProcess) restart(bool) bool {
	p.t.Helper()
	if p.rnd.IntN(modelRestarts) > 0 {
		return false
	}
	signal := syscall.SIGTERM
	if p.rnd.IntN(2) == 0 {
		signal = syscall.SIGKILL
	}
	p.end(signal)
	p.start()
	return false
}

func (p *modelProcess) fill(data []byte, form modelform.Form) {
	p.t.Helper()
	if form.Document != "" {
		p.put("/.settings/data.json", form.Document)
	}
	p.put("/.json", string(data))
	p.put("/.settings/rules.json", form.Rules)
}

func (p *modelProcess) clock(ms int64) {
	p.t.Helper()
	p.put("/.settings/now.json", strconv.FormatInt(ms, 10))
}

func (p *modelProcess) client(auth *modelAuth) *dogwood.Client {
	return dial(p.t, "http://127.0.0.1:"+p.port+"?ns=models", auth.options())
}

// put makes a request as administrator.
func (p *modelProcess) put(path, body string) {
	p.t.Helper()
	url := "http://127.0.0.1:" + p.port + path + "?ns=models"
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPut, url, strings.NewReader(body))
	want(p.t, err)
	r.Header.Set("Authorization", "Bearer owner")
	r.Close = true // the next one may go to another process
	resp, err := http.DefaultClient.Do(r)
	want(p.t, err)
	text, err := io.ReadAll(resp.Body)
	want(p.t, err)
	want(p.t, resp.Body.Close())
	if resp.StatusCode != http.StatusOK {
		p.t.Fatalf("PUT %s: %s %s", path, resp.Status, text)
	}
}
