package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// killRounds is how often a process is killed.
func killRounds() int {
	return tier.Count("DOGWOOD_KILL_ROUNDS", 2, 4, 500)
}

// A killTest kills processes while they import a file, and looks at what they
// leave.
type killTest struct {
	t       *testing.T
	dir     string // of the data
	file    string // to be imported
	old     string // what is at / before
	new     string // and after
	compact int64  // size of the data file before, without unused room
	took    time.Duration
}

// TestImportIsKilled kills the process that imports, at random moments: one that
// works on the data directory, and a server that is sent the file while others
// write to it.
func TestImportIsKilled(t *testing.T) {
	tier.Need(t, tier.Full)
	t.Parallel()
	k := newKillTest(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	finished := 0
	for round := range killRounds() {
		after := time.Duration(rnd.Int64N(int64(k.took) * 5 / 4))
		var acked int
		if round%2 == 0 {
			k.killImport(after)
		} else {
			acked = k.killServer(after)
		}
		if k.look(acked) {
			finished++
		}
		if t.Failed() {
			t.Fatalf("round %d: killed after %s of about %s", round, after, k.took)
		}
	}
	t.Logf("%d of %d imports were finished before they were killed", finished, killRounds())
}

func newKillTest(t *testing.T) *killTest {
	dir := t.TempDir()
	k := &killTest{t: t, dir: filepath.Join(dir, "data"), file: filepath.Join(dir, "new.json")}
	k.old = `{"list":{"old":` + rowsText(500, "old") + `},"n":0}`
	list := `{"new":` + rowsText(30_000, "new") + `}`
	k.new = `{"list":` + list + `,"n":0}`
	if err := os.WriteFile(k.file, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	k.reset()
	result, err := store.Compact(k.data(), nil)
	if err != nil {
		t.Fatal(err)
	}
	k.compact = result.After
	began := time.Now()
	if out, err := k.importing(t.Context()).CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	k.took = time.Since(began)
	if !k.look(0) {
		t.Fatal("an import that nobody disturbs does not change the data")
	}
	return k
}

// rowsText is an object in canonical form.
func rowsText(n int, what string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%06d":{"i":%d,"text":"%s, %0150d"}`, i, i, what, i)
	}
	return "{" + b.String()[1:] + "}"
}

func (k *killTest) data() string { return filepath.Join(k.dir, "default.db") }

// reset makes the data what they are before an import.
func (k *killTest) reset() {
	k.t.Helper()
	if err := os.RemoveAll(k.dir); err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.CommandContext(k.t.Context(), "dogwood", "import", "/", "-", "--data", k.dir)
	cmd.Stdin = strings.NewReader(k.old)
	if out, err := cmd.CombinedOutput(); err != nil {
		k.t.Fatalf("import: %v\n%s", err, out)
	}
}

func (k *killTest) importing(ctx context.Context) *exec.Cmd {
	return exec.CommandContext(ctx, "dogwood", "import", "/list", k.file, "--data", k.dir)
}

// killImport kills an import into the data directory.
func (k *killTest) killImport(after time.Duration) {
	cmd := k.importing(k.t.Context())
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended
	_ = cmd.Wait()
	kill.Stop()
}

// killServer kills a server that imports and returns the last value of /n that
// it acknowledged.
func (k *killTest) killServer(after time.Duration) (acked int) {
	base, stop := k.serve()
	defer stop()
	secret := filepath.Join(k.dir, "admin-secret")
	sending := exec.CommandContext(k.t.Context(), "dogwood", "import", "/list", k.file, "--url", base, "--secret-file", secret)
	if err := sending.Start(); err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = sending.Wait() }() // fails, if it was not faster
	kill := time.AfterFunc(after, stop)
	defer kill.Stop()
	token := k.secret()
	for n := 1; ; n++ {
		status, text, err := request(k.t.Context(), http.MethodPut, base+"/n.json", token, strconv.Itoa(n))
		if status == 0 || status == http.StatusOK && err != nil {
			return acked // killed
		}
		if status != http.StatusOK {
			k.t.Errorf("PUT /n: %d %s", status, text)
			return acked
		}
		acked = n
	}
}

// serve runs a server on the data and returns its address. stop kills it.
func (k *killTest) serve() (url string, stop func()) {
	k.t.Helper()
	s := startListening(k.t, exec.Command("dogwood", "serve", "--port", "0", "--data", k.dir))
	return s.url, s.kill
}

// look opens what a killed process has left, reports whether the import took
// effect, and resets the data.
func (k *killTest) look(acked int) (imported bool) {
	k.t.Helper()
	defer k.reset()
	s, err := store.Open(k.data(), store.Options{})
	if err != nil {
		k.t.Error(err)
		return false
	}
	for _, when := range []string{"at once", "after reclaiming"} {
		findings, err := s.Check()
		if err := errors.Join(append(findings, err)...); err != nil {
			k.t.Errorf("check %s: %v", when, err)
		}
		for more := true; more && err == nil; {
			more, err = s.Reclaim(5000, nil)
		}
	}
	var got bytes.Buffer
	n := 0
	err = s.View(func(tx *store.Tx) error {
		leaf, err := tx.Get(tree.MustParsePath("n"))
		f, _ := leaf.NumberValue()
		n = int(f)
		return errors.Join(err, tx.WriteJSON(&got, tree.Root))
	})
	if err := errors.Join(err, s.Close()); err != nil {
		k.t.Error(err)
	}
	if n < acked || n > acked+1 {
		k.t.Errorf("/n is %d, %d was acknowledged", n, acked)
	}
	text := strings.Replace(got.String(), fmt.Sprintf(`"n":%d}`, n), `"n":0}`, 1)
	imported = text == k.new
	if !imported && text != k.old {
		k.t.Errorf("the tree is neither the old one nor the new one: %.200s", text)
	}
	result, err := store.Compact(k.data(), nil)
	if err != nil {
		k.t.Error(err)
	}
	if slack := int64(256 << 10); !imported && result.After > k.compact+slack {
		k.t.Errorf("the file has %d bytes, had %d before: something was not reclaimed", result.After, k.compact)
	}
	return imported
}
