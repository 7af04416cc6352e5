package dogwood_test

import (
	"context"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
	"github.com/dogwooddb/dogwood/server/servertest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// quick are options with which a client does not wait long between attempts.
var quick = dogwood.Options{MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond}

// dial connects a client that is closed when the test ends.
func dial(t testing.TB, url string, o dogwood.Options) *dogwood.Client {
	t.Helper()
	c, err := dogwood.Dial(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return c
}

// open returns a database in memory.
func open(t testing.TB) *embed.Database {
	t.Helper()
	db, err := embed.Open("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return db
}

// both runs a test with a client over a network, and with one in the process.
func both(t *testing.T, test func(t *testing.T, c *dogwood.Client)) {
	t.Run("network", func(t *testing.T) {
		s := servertest.New(t, servertest.Options{})
		o := quick
		o.Token = dogwood.StaticToken("owner")
		test(t, dial(t, s.URL, o))
	})
	t.Run("embedded", func(t *testing.T) { test(t, open(t).Client) })
}

func want(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// value reads a place as JSON in export form.
func value(t testing.TB, r dogwood.Reader) string {
	t.Helper()
	s, err := r.Snapshot(context.Background())
	want(t, err)
	return s.JSON()
}
