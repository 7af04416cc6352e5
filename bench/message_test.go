package bench

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/sync/wire"
)

func TestObjects(t *testing.T) {
	for _, size := range []int{0, 31, 32, 200, 5000, maxObject} {
		for _, n := range []int64{0, 7, 123456} {
			text := object(n, size)
			var v struct{ N int64 }
			if err := json.Unmarshal([]byte(text), &v); err != nil || v.N != n {
				t.Errorf("object(%d, %d) = %.100s: n is %d, %v", n, size, text, v.N, err)
			}
			if least := len(object(n, 0)); len(text) != max(size, least) {
				t.Errorf("object(%d, %d) has %d bytes", n, size, len(text))
			}
			if got, ok := numberOf([]byte(`{"t":"d","d":{"a":"d","b":{"p":"x","d":` + text + `}}}`)); !ok || got != n {
				t.Errorf("numberOf finds %d, %v in object %d", got, ok, n)
			}
		}
	}
	for _, text := range []string{``, `{"n":}`, `{"n":"x"}`, `{"n":99999999999999999999}`} {
		if n, ok := numberOf([]byte(text)); ok {
			t.Errorf("numberOf(%s) = %d", text, n)
		}
	}
}

// Keys and push ids sort as they were made.
func TestKeysAscend(t *testing.T) {
	var keys, posts []string
	for _, n := range []int64{0, 1, 9, 10, 63, 64, 4095, 4096, 9999999999} {
		keys = append(keys, string(AppendKey(nil, n)))
		posts = append(posts, string(postKey(nil, 1795239618409, n)))
	}
	posts = append(posts, string(postKey(nil, 1795239618410, 0)))
	if !slices.IsSorted(keys) || !slices.IsSorted(posts) || len(slices.Compact(keys)) != 9 || len(slices.Compact(posts)) != 10 {
		t.Errorf("keys do not ascend: %q, %q", keys, posts)
	}
	for _, key := range posts {
		if len(key) != 20 {
			t.Errorf("post key %q has %d characters", key, len(key))
		}
	}
}

// A post writes what the rules ask for, at three places.
func TestPost(t *testing.T) {
	w := Chat{Rooms: 2, Members: 3, Window: 4, Size: 10}
	rm := newRoom(w, 1)
	m, err := wire.ParseMessage(string(rm.members[2].appendPost(nil, 9, []byte("-key"))))
	if err != nil || m.Request.Action != wire.ActionMerge || m.Request.ID != 9 || m.Request.Body.Path != "/" {
		t.Fatalf("a post is %+v, %v", m.Request, err)
	}
	const want = `{"messages/r1/-key":{"sender":"u1-2","message":"the quick ","sent":{".sv":"timestamp"}},"rooms/r1/last":"-key","users/u1-2/posted/r1":"-key"}`
	if m.Request.Body.Data != want {
		t.Errorf("a post writes\n%s\nwant\n%s", m.Request.Body.Data, want)
	}
}

// The rooms are complete, by their own rules, before the first post.
func TestSeed(t *testing.T) {
	w := Chat{Rooms: 2, Members: 3, Window: 4, Size: 10}
	update := w.seed([]*room{newRoom(w, 0), newRoom(w, 1)}, time.UnixMilli(1795239618409))
	text, err := json.Marshal(update)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2*3+6 {
		t.Errorf("%d places, want 3 of each room and one of each of 6 users", len(got))
	}
	if room := got["rooms/r1"]; room["owner"] != "u1-0" || got["messages/r1"][room["last"].(string)] == nil {
		t.Errorf("room %v has no such last message", room)
	}
	if len(got["messages/r0"]) != 4 || len(got["members/r0"]) != 3 || got["members/r0"]["u0-2"] != true {
		t.Errorf("room r0 has messages %v and members %v", got["messages/r0"], got["members/r0"])
	}
	if rooms := got["users/u1-1"]["rooms"].(map[string]any); rooms["r1"] != true {
		t.Errorf("user u1-1 has the rooms %v", rooms)
	}
}

func TestRulesAreJSON(t *testing.T) {
	for _, w := range []Workload{Set{}, Chat{}, Chat{Rules: RulesChat}, Fanout{}, Idle{}, Shallow{}, Query{}, RESTGet{}, RESTPut{}} {
		if _, rules := w.About(); !json.Valid([]byte(rules)) {
			t.Errorf("%s: the rules are not JSON", w.Name())
		}
	}
}

// The rows are one JSON object, and every range of n has its rows.
func TestRows(t *testing.T) {
	for _, n := range []int{1, 2, 1000} {
		w := Query{Rows: Rows{n}, Window: 50, Connections: 3}
		var b strings.Builder
		if err := w.write(&b); err != nil {
			t.Fatal(err)
		}
		var rows map[string]map[string]any
		if err := json.Unmarshal([]byte(b.String()), &rows); err != nil || len(rows) != n {
			t.Fatalf("%d rows: got %d, %v", n, len(rows), err)
		}
		seen := make(map[float64]bool)
		for key, row := range rows {
			if len(row) != 10 {
				t.Errorf("row %s has %d leaves", key, len(row))
			}
			seen[row["n"].(float64)] = true
		}
		if len(seen) != n || !seen[0] || !seen[float64(n-1)] {
			t.Errorf("%d rows have %d values of n", n, len(seen))
		}
		for seq := range int64(500) {
			if start := w.start(int(seq%3), seq); start < 0 || start >= n || n >= 50 && start+50 > n {
				t.Errorf("range %d of %d rows begins at %d", seq, n, start)
			}
		}
	}
}
