package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/logdir"
)

// mixedSockets is how many connections write to each of two databases, so that 16 have 16 writes
// in flight.
const mixedSockets = 8

// TestCrashMixed is TestCrash with more connections, large writes that bypass the log, imports in
// pieces, deletes of all that they wrote, backups, and index builds. Now and then a killed server's file is away while another
// server starts, and comes back.
func TestCrashMixed(t *testing.T) {
	tier.Need(t, tier.Full)
	t.Parallel()
	c := newCrashTest(t, mixedSockets, "one", "two")
	c.most = 5 * crashLoad
	for i, db := range c.dbs {
		db.bulk = &bulkValue{rnd: rand.New(rand.NewPCG(c.seed, uint64(i))), secret: filepath.Join(c.data, "admin-secret")}
	}
	rounds := tier.Count("DOGWOOD_KILLS", 3, 3, 1000)
	for round := range rounds {
		if round%5 == 2 {
			c.killStarting()
		}
		if round%7 == 1 {
			c.away()
		}
		c.start()
		c.compare()
		c.load()
		c.checkFiles()
		if t.Failed() {
			t.Fatalf("round %d; the seed is %d", round+1, c.seed)
		}
	}
	c.start()
	c.compare()
	if err := c.server.stop(); err != nil {
		t.Error(err)
	}
	c.checkFiles()
	for _, db := range c.dbs {
		t.Logf("%s: %+v, %+v", db.ns, db.figures, db.bulk.done)
		done := &db.bulk.done
		if rounds >= 100 && min(done.Writes, done.Imports, done.Backups, done.Rules, db.figures.Disconnects) == 0 {
			t.Errorf("%s: something never took place", db.ns)
		}
	}
}

// away starts a server on a directory that lacks a file, kills it, and puts the file back.
func (c *crashTest) away() {
	c.t.Helper()
	file := filepath.Join(c.data, c.dbs[c.rnd.IntN(len(c.dbs))].ns+".db")
	away := filepath.Join(filepath.Dir(c.data), "away.db")
	err := os.Rename(file, away)
	if err == nil {
		c.start()
		c.killed.Store(true)
		c.server.kill()
		c.server.ended()
		c.tellsKept()
		err = os.Rename(away, file) // over a new one
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// tellsKept wants dogwood check to say what is kept for files that are away.
func (c *crashTest) tellsKept() {
	c.t.Helper()
	kept, err := logdir.KeptIn(c.data)
	out, failed := exec.Command("dogwood", "check", c.data).Output()
	if err := errors.Join(err, failed); err != nil {
		c.t.Fatalf("%v\n%s", err, out)
	}
	for _, k := range kept {
		if !strings.Contains(string(out), filepath.Base(k.File)) {
			c.t.Errorf("dogwood check does not tell of %s:\n%s", k.File, out)
		}
	}
}

// A bulkValue is a large value that one client replaces and deletes, among other things.
type bulkValue struct {
	rnd    *rand.Rand
	secret string // name of its file

	acked, sent int // versions; the value may have any from acked on
	done        bulkFigures
}

// bulkFigures count what took place.
type bulkFigures struct{ Writes, Imports, Backups, Rules int }

// value returns the text of a version. Each fourth one is a delete.
func (b *bulkValue) value(version int) string {
	if version%4 == 0 {
		return "null"
	}
	rows := []int{40, 700, 9000}[version%3]
	if b.imported(version) {
		rows = 40_000
	}
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, `,"r%05d":{"i":%d,"text":"%0100d"}`, i, i%97, version)
	}
	return fmt.Sprintf(`{"v":%d,"rows":{%s}}`, version, text.String()[1:])
}

// imported reports whether a version is long enough to be an import.
func (b *bulkValue) imported(version int) bool { return version%10 == 5 }

func (b *bulkValue) compare(root tree.Node) error {
	got := root.Get(tree.MustParsePath("bulk"))
	for version := b.acked; version <= b.sent; version++ {
		want, err := tree.ParseNode(b.value(version))
		if err != nil {
			return err
		}
		if got == want {
			b.acked, b.sent = version, version
			return nil
		}
	}
	return fmt.Errorf("/bulk has %.100s, and should have a version from %d to %d", got.JSON(), b.acked, b.sent)
}

// writes works until the server is gone.
func (b *bulkValue) writes(url, ns string, client *http.Client) error {
	secret, err := os.ReadFile(b.secret)
	if err != nil {
		return err
	}
	do := func(method, path, body string) error {
		r, err := http.NewRequest(method, url+path+"?writeSizeLimit=unlimited&ns="+ns, strings.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
		resp, err := client.Do(r)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(resp.Body)
		err = errors.Join(err, resp.Body.Close())
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s %s: %s %.200s", method, path, resp.Status, text)
		}
		return err
	}
	for {
		switch n := b.rnd.IntN(12); n {
		case 0:
			if err = do(http.MethodGet, "/.settings/backup", ""); err == nil {
				b.done.Backups++
			}
		case 1, 2:
			index := []string{"", `,"bulk":{"rows":{".indexOn":["i","text"]}}`}[n-1]
			err = do(http.MethodPut, "/.settings/rules.json", `{"rules":{".read":true,".write":true`+index+`}}`)
			if err == nil {
				b.done.Rules++
			}
		default:
			b.sent++
			if err = do(http.MethodPut, "/bulk.json", b.value(b.sent)); err == nil {
				b.acked = b.sent
				b.done.Writes++
				if b.imported(b.sent) {
					b.done.Imports++
				}
			}
		}
		if err != nil {
			return err
		}
	}
}
