package dogwood_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/server/servertest"
)

const readableRules = `{"rules":{"rooms":{"$r":{".read":"data.child('public').val() === true"}},"open":{".read":true}}}`

func ExampleRef_Readable() {
	db := sample()
	defer db.Close()
	check(db.SetRules(ctx, `{"rules": {"rooms": {"$room": {".read": "data.child('public').val() === true"}}}}`))
	check(db.Ref("rooms").Set(ctx, map[string]any{"r1": map[string]any{"public": true}, "r2": map[string]any{"public": false}}))
	ana, err := db.As(map[string]any{"uid": "ana"})
	check(err)
	for room, err := range ana.Ref("rooms").Readable(ctx) {
		check(err)
		fmt.Println(room.Key(), room.JSON())
	}
	// Output: r1 {"public":true}
}

func ExampleRef_ReadableKeys() {
	db := sample()
	defer db.Close()
	for key, err := range db.Ref("rooms").ReadableKeys(ctx) {
		check(err)
		fmt.Println(key)
	}
	// Output:
	// r1
	// r2
}

func TestReadable(t *testing.T) {
	rooms, public := map[string]any{}, []string{}
	for i := range 300 {
		key := fmt.Sprintf("room%03d", i)
		rooms[key] = map[string]any{"public": i%3 == 0, "0": map[string]any{".value": i, ".priority": i}}
		if i%3 == 0 {
			public = append(public, key)
		}
	}
	test := func(t *testing.T, admin, ana *dogwood.Client) {
		ctx := t.Context()
		want(t, admin.Ref("").Set(ctx, map[string]any{"rooms": rooms, "open": rooms, "shut": rooms}))
		if err := ana.Ref("rooms").Get(ctx, new(any)); !errors.Is(err, dogwood.ErrPermissionDenied) {
			t.Fatal(err)
		}
		for path, count := range map[string]int{"rooms": 100, "open": 300, "shut": 0, "none": 0} {
			var keys []string
			for key, err := range ana.Ref(path).ReadableKeys(ctx) {
				want(t, err)
				keys = append(keys, key)
			}
			n := 0
			for s, err := range ana.Ref(path).Readable(ctx) {
				want(t, err)
				if s.Ref().Path() != "/"+path+"/"+keys[n] || s.Child("0").Priority() == nil && s.Key() != "room000" {
					t.Fatalf("%s: %s", s.Ref().Path(), s.JSON())
				}
				n++
			}
			if len(keys) != count || n != count || path == "rooms" && !slices.Equal(keys, public) {
				t.Errorf("%s: %d keys and %d values, want %d", path, len(keys), n, count)
			}
		}
	}
	t.Run("network", func(t *testing.T) {
		s := servertest.New(t, servertest.Options{})
		s.SetRules(readableRules)
		o := quick
		o.Token = dogwood.StaticToken("owner")
		test(t, dial(t, s.URL, o), dial(t, s.URL, quick))
	})
	t.Run("embedded", func(t *testing.T) {
		db, ana := openWith(t, readableRules)
		test(t, db.Client, ana)
	})
}

// A server that ignores readable=true answers with the whole value.
func TestReadableUnsupported(t *testing.T) {
	s := servertest.New(t, servertest.Options{})
	before := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.Host})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.RawQuery = strings.ReplaceAll(r.URL.RawQuery, "readable=true", "")
		before.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	c := dial(t, strings.Replace(s.URL, s.Host, strings.TrimPrefix(proxy.URL, "http://"), 1), quick)
	want(t, c.Ref("a").Set(t.Context(), map[string]int{"b": 1}))
	if err := pull(t, c.Ref("a").Readable(t.Context())).fails(); !errors.Is(err, dogwood.ErrUnsupported) {
		t.Error(err)
	}
	if err := pull(t, c.Ref("a").ReadableKeys(t.Context())).fails(); !errors.Is(err, dogwood.ErrUnsupported) {
		t.Error(err)
	}
}
