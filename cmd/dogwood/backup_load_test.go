package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/checks"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// TestBackupUnderLoad backs up a server while many write to it, restores the
// copies elsewhere, and wants in each what was acknowledged before it began.
func TestBackupUnderLoad(t *testing.T) {
	tier.Need(t, tier.Full)
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	k := &killTest{t: t, dir: data}
	url, stop := k.serve()
	defer stop()
	secret := filepath.Join(data, "admin-secret")
	token := secretOf(t, data)
	ctx, cancel := context.WithCancel(t.Context())
	var acked [8]atomic.Int64
	var writing sync.WaitGroup
	for w := range acked {
		writing.Go(func() {
			for n := int64(1); ctx.Err() == nil; n++ {
				body := fmt.Sprintf(`{"w%d":%d,"list/w%d-%d":"%0500d"}`, w, n, w, n%200, n)
				status, text, err := request(t.Context(), http.MethodPatch, url+"/.json?print=silent", token, body)
				if err != nil || status != http.StatusNoContent {
					t.Errorf("PATCH: %d %s, %v", status, text, err)
					return
				}
				acked[w].Store(n)
			}
		})
	}
	run := func(args ...string) {
		if out, err := exec.CommandContext(t.Context(), "dogwood", args...).CombinedOutput(); err != nil {
			t.Errorf("dogwood %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for i := range tier.Pick(0, 2, 30) {
		var before [len(acked)]int64
		for w := range acked {
			before[w] = acked[w].Load()
		}
		copied, ns := filepath.Join(dir, "copy.db"), fmt.Sprint("copy", i)
		run("backup", copied, "--url", url, "--secret-file", secret)
		run("restore", copied, "--data", filepath.Join(dir, "elsewhere"), "--namespace", ns)
		file := filepath.Join(dir, "elsewhere", ns+".db")
		if findings := checks.File(t.Context(), file); len(findings) > 0 {
			t.Errorf("backup %d: %v", i, findings)
			break
		}
		wantAcked(t, file, before[:])
	}
	cancel()
	writing.Wait()
}

// wantAcked looks for what was acknowledged to each writer.
func wantAcked(t *testing.T, file string, acked []int64) {
	t.Helper()
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.View(func(tx *store.Tx) error {
		for w, want := range acked {
			leaf, err := tx.Get(tree.Root.Child(fmt.Sprint("w", w)))
			if err != nil {
				return err
			}
			got, _ := leaf.NumberValue()
			if int64(got) < want {
				t.Errorf("%s has write %v of writer %d, %d was acknowledged before", file, got, w, want)
			}
			text, err := tx.Get(tree.MustParsePath(fmt.Sprintf("list/w%d-%d", w, int64(got)%200)))
			if s, _ := text.StringValue(); err != nil || got > 0 && s != fmt.Sprintf("%0500d", int64(got)) {
				t.Errorf("%s has a part of write %v of writer %d, %v", file, got, w, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
