package observe

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/tree"
)

// A profile that is not read keeps a bounded number of operations, and says how
// many it left out.
func TestProfileDrops(t *testing.T) {
	p := NewProfile(time.Now)
	for range maxProfiled + 5 {
		p.Tell(trace.Operation{Name: trace.OpWrite, Path: tree.Root.Child("a")})
	}
	r := bufio.NewReader(strings.NewReader(string(p.Events())))
	for range maxProfiled {
		if name, data := readEvent(t, r); name != "log" || data["name"] != "realtime-write" {
			t.Fatalf("event %s %v", name, data)
		}
	}
	if name, data := readEvent(t, r); name != "dropped" || data["name"] != "dropped" || data["dropped"] != 5.0 {
		t.Errorf("the last event is %s %v", name, data)
	}
	if more := p.Events(); len(more) > 0 {
		t.Errorf("afterwards: %s", more)
	}
}

func TestProfiledQuery(t *testing.T) {
	bound := func(v string) tree.Bound { return tree.Bound{Set: true, Value: tree.String(v)} }
	for _, c := range []struct {
		q    tree.Query
		want string
	}{
		{tree.Query{OrderBy: tree.ByKey}, `{}`},
		{tree.Query{OrderBy: tree.ByKey, Start: bound("a"), End: bound("a")}, `{"equalTo":"a","orderBy":"$key"}`},
		{tree.Query{Limit: 3, FromLast: true}, `{"limitToLast":3,"orderBy":"$priority"}`},
		{tree.Query{OrderBy: "a/b", Start: bound("x")}, `{"index":{"path":["a","b"]},"orderBy":"a/b","startAt":"x"}`},
		{tree.Query{OrderBy: `["a/b","c"]`, Start: tree.Bound{Set: true, Value: tree.ListValue([]tree.Node{tree.String("x")})}}, `{"orderBy":["a/b","c"],"startAt":["x"]}`},
	} {
		if got, _ := json.Marshal(profiledQuery(c.q)); string(got) != c.want {
			t.Errorf("query %s is told as %s, want %s", c.q.ID(), got, c.want)
		}
	}
}

// readEvent reads the name and the data of the next event.
func readEvent(t *testing.T, r *bufio.Reader) (name string, data map[string]any) {
	t.Helper()
	var lines [3]string
	for i := range lines {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("event: %v after %q", err, lines)
		}
		lines[i] = strings.TrimSuffix(line, "\n")
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(lines[1], "data: ")), &data); err != nil {
		t.Fatalf("event %q: %v", lines, err)
	}
	return strings.TrimPrefix(lines[0], "event: "), data
}
