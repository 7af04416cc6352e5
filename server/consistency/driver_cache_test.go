package consistency

import (
	"io"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/dogwooddb/dogwood/server/servertest"
)

// A get of the firebase driver asks the server, also right after a transaction that failed.
// The SDK alone would answer it from the view of the transaction's listener, which it
// removes a little later (repoRerunTransactionQueue and repoGetValue in src/core/Repo.ts).
// While the connection is broken, that view is out of date. Such an answer says nothing of
// the server, so it must not be in a history.
func TestFirebaseDriverAsksTheServer(t *testing.T) {
	command := firebaseDriver(t)
	if command == nil {
		t.Skip("there is no firebase npm package")
	}
	s := servertest.New(t, servertest.Options{})
	s.Set("/k", `"a"`)
	s.SetRules(`{"rules": {".read": true, ".write": false}}`)
	d, err := startDriver("firebase", command(s.Host))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	const transaction, get = `{"do":"transaction","key":"k","tag":"b"}` + "\n", `{"do":"get","key":"k"}` + "\n"
	tell := func(orders string) {
		t.Helper()
		if _, err := io.WriteString(d.in, orders); err != nil {
			t.Fatal(err)
		}
		if _, err := d.answer(); err == nil {
			t.Fatal("the transaction was not refused")
		}
	}
	before := reads(t, s)
	if tell(transaction); reads(t, s) != before {
		t.Fatal("the server counts a transaction as a read, so the count says nothing")
	}
	tell(transaction + get) // the driver has the get when the transaction ends
	if a, err := d.answer(); err != nil || a.Value != "a" {
		t.Errorf("get: %q, %v; want \"a\"", a.Value, err)
	}
	if reads(t, s) == before {
		t.Error("the get did not ask the server")
	}
}

var readsTotal = regexp.MustCompile(`(?m)^dogwood_reads_total\{namespace="test"\} (\d+)$`)

// reads returns how many values were read at the server, as it counts them.
func reads(t *testing.T, s *servertest.Server) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Operations().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	found := readsTotal.FindStringSubmatch(w.Body.String())
	if found == nil {
		t.Fatalf("no count of reads: %d %.200s", w.Code, w.Body)
	}
	return found[1]
}
