package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/checks"
	"github.com/dogwooddb/dogwood/internal/tier"
)

// crashDocument has a definition of each kind, and one that follows from another one.
const crashDocument = `{"format": "dogwood-data/1", "define": {
	"inverse": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"},
	"sizes": {"count": "/groups/$g/members/$u", "to": "/sizes/$g"},
	"perUser": {"count": "/users/$u/groups/$g", "to": "/perUser/$u"},
	"owners": {"map": "/groups/$g/owner", "to": "/owners/{data.val()}", "value": true},
	"points": {"sum": "/points/$u/$p", "of": "= data.val()", "to": "/total/$u"},
	"home": {"keep": 20, "at": "/home/$u", "by": ".value"},
	"soon": {"expire": "/soon/$k", "after": "20ms"}%s
}}`

// TestCrashDeclared kills a server while clients write what others follow from, while
// definitions are built, and while nodes expire. Deriving
// everything anew from the file must give the same.
func TestCrashDeclared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.json")
	if err := os.WriteFile(rules, []byte(crashRules), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	written := 0
	for round := range tier.Count("DOGWOOD_KILLS", 4, 4, 1000) {
		s := startProcess(t, "serve", "--port", "0", "--data", data, "--rules", rules)
		if err := s.listening(); err != nil {
			t.Fatal(err)
		}
		secret, err := os.ReadFile(filepath.Join(data, "admin-secret"))
		if err != nil {
			t.Fatal(err)
		}
		more := ""
		if round%2 == 1 { // it is built over the data
			more = fmt.Sprintf(`, "again": {"map": "/groups/$g/members/$u", "to": "/again/$g/$u", "value": %d, "onConflict": "replace"}`, round)
		}
		status, err := sendTo(s.url+"/.settings/data.json?auth="+strings.TrimSpace(string(secret)), http.MethodPut, fmt.Sprintf(crashDocument, more))
		if err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
		killing := time.AfterFunc(100*time.Millisecond+time.Duration(rnd.Int64N(int64(300*time.Millisecond))), func() { _ = s.cmd.Process.Kill() })
		var clients sync.WaitGroup
		counts := make([]int, 8)
		for i := range counts {
			seed := rnd.Uint64()
			clients.Go(func() { counts[i] = writeUntilKilled(t, s.url, rand.New(rand.NewPCG(seed, 0))) })
		}
		clients.Wait()
		killing.Stop()
		s.kill()
		for _, n := range counts {
			written += n
		}
		if err := errors.Join(checks.File(t.Context(), filepath.Join(data, "default.db"))...); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if written == 0 {
		t.Error("no client has written anything")
	}
}

// writeUntilKilled writes at random places until that fails, and returns how often that went well.
func writeUntilKilled(t *testing.T, url string, rnd *rand.Rand) (n int) {
	for ; ; n++ {
		g, u := rnd.IntN(40), rnd.IntN(40)
		body := []string{
			fmt.Sprintf(`{"groups/g%d/members/u%d": %s, "home/u%d/p%d": %d}`, g, u, []string{"true", "null"}[rnd.IntN(2)], u, rnd.IntN(100), rnd.IntN(1000)),
			fmt.Sprintf(`{"groups/g%d/owner": "u%d", "points/u%d/p%d": %d}`, g, u, u, rnd.IntN(9), rnd.IntN(9)),
			fmt.Sprintf(`{"groups/g%d": null, "soon/k%d": 1, "users/u%d/groups/g%d": null}`, g, rnd.IntN(50), u, g),
		}[rnd.IntN(3)]
		status, err := sendTo(url+"/.json", http.MethodPatch, body)
		switch {
		case err != nil:
			return n
		case status != http.StatusOK && status != http.StatusUnauthorized: // it contradicts what follows
			t.Errorf("%s: %d", body, status)
			return n
		}
	}
}

func sendTo(url, method, body string) (status int, err error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}
