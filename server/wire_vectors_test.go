package server

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// The tests in this file run every case of testdata/vectors/wire-*.json against
// a server over a real socket. What only a client does (making push ids,
// applying range merges, turning objects into arrays) is checked against what
// the server sends and takes for it; the code of package tree that shares these
// vectors runs them too.

func wireVectors(t *testing.T, name string) gjson.Result {
	t.Helper()
	text, err := os.ReadFile("../testdata/vectors/wire-" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return gjson.ParseBytes(text)
}

// reply sends a request and returns its reply and the pushes before it.
func (c *wsClient) reply(action, body string) (reply gjson.Result, pushes []gjson.Result) {
	c.t.Helper()
	r := int64(c.request(action, body))
	for {
		d := gjson.Get(c.next(), "d")
		if d.Get("r").Exists() {
			if got := d.Get("r").Int(); got != r {
				c.t.Fatalf("reply to %d, want %d", got, r)
			}
			return d.Get("b"), pushes
		}
		pushes = append(pushes, d)
	}
}

func (c *wsClient) put(path, raw string) {
	c.t.Helper()
	c.do("p", fmt.Sprintf(`{"p":%s,"d":%s}`, quote(path), raw))
}

func (c *wsClient) get(path string) gjson.Result {
	c.t.Helper()
	reply, _ := c.reply("g", fmt.Sprintf(`{"p":%s,"q":{}}`, quote(path)))
	if reply.Get("s").String() != "ok" {
		c.t.Fatalf("get %s: %s", path, reply.Raw)
	}
	return reply.Get("d")
}

func quote(s string) string { return string(wire.AppendString(nil, s)) }

func wantJSON(t *testing.T, what, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Errorf("%s: %v in %.200s", what, err, got)
		return
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s = %.300s, want %.300s", what, got, want)
	}
}

// wantHash checks that the server takes a hash for the value at a path.
func (c *wsClient) wantHash(what, path, value, hash string) {
	c.t.Helper()
	reply, _ := c.reply("p", fmt.Sprintf(`{"p":%s,"d":%s,"h":%s}`, quote(path), value, quote(hash)))
	if reply.Get("s").String() != "ok" {
		c.t.Errorf("%s: hash %q of %.80s: %s", what, hash, value, reply.Raw)
	}
}

func TestWireVectorsHash(t *testing.T) {
	server := onSocket(t, Options{Dev: true})
	for _, v := range wireVectors(t, "hash").Get("cases").Array() {
		c := server.connect("") // one that has not listened: its hash is believed
		name, value := v.Get("name").String(), v.Get("value").Raw
		c.put("/h", value)
		c.wantHash(name, "/h", value, v.Get("hash").String())
		if js := v.Get("jsSdkHash"); js.Exists() {
			c.wantHash(name+", as the JS SDK has it", "/h", value, js.String())
		}
		reply, pushes := c.reply("q", fmt.Sprintf(`{"p":"h","h":%q}`, v.Get("hash").String()))
		if reply.Get("s").String() != "ok" || len(pushes) > 0 && v.Get("hash").String() != "" {
			t.Errorf("%s: a listen with the right hash got %v", name, pushes)
		}
		c.do("n", `{"p":"h"}`)
		reply, _ = c.reply("p", `{"p":"/h","d":1,"h":"AAAAAAAAAAAAAAAAAAAAAAAAAAA="}`)
		if reply.Get("s").String() != "datastale" {
			t.Errorf("%s: a wrong hash got %s", name, reply.Raw)
		}
	}
}

func TestWireVectorsNumbers(t *testing.T) {
	c := onSocket(t, Options{Dev: true}).connect("")
	for _, v := range wireVectors(t, "number-encoding").Get("cases").Array() {
		value := v.Get("value").Raw
		c.put("/n", value)
		for _, hex := range []string{v.Get("hex").String(), v.Get("jsSdk").String()} {
			if hex != "" {
				sum := sha1.Sum([]byte("number:" + hex))
				c.wantHash("number", "/n", value, base64.StdEncoding.EncodeToString(sum[:]))
			}
		}
	}
}

func TestWireVectorsNormalize(t *testing.T) {
	c := onSocket(t, Options{Dev: true}).connect("")
	for _, v := range wireVectors(t, "normalize").Get("cases").Array() {
		c.put("/v", v.Get("input").Raw)
		wantJSON(t, "put of "+v.Get("input").Raw, c.get("/v").Raw, v.Get("export").Raw)
	}
}

func TestWireVectorsServerValues(t *testing.T) {
	now := time.UnixMilli(1700000000000)
	n := onSocket(t, Options{Dev: true, Now: func() time.Time { return now }})
	c := n.websocket("")
	c.next() // its hello is as old as the clock
	for _, v := range wireVectors(t, "server-values").Get("cases").Array() {
		c.put("/v", v.Get("existing").Raw)
		c.put("/v", v.Get("write").Raw)
		what := v.Get("write").Raw + " over " + v.Get("existing").Raw
		wantJSON(t, what, c.get("/v").Raw, v.Get("resolved").Raw)
	}
}

func TestWireVectorsArrays(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	c := n.connect("")
	for _, v := range wireVectors(t, "array-coercion").Get("cases").Array() {
		if slices.ContainsFunc(keysOf(v.Get("stored")), unsendable) {
			continue
		}
		c.put("/v", v.Get("stored").Raw)
		wantJSON(t, "export", c.get("/v").Raw, v.Get("export").Raw)
		wantJSON(t, "plain", n.rest("/v.json?ns=test"), v.Get("val").Raw)
	}
}

// rest returns the answer to a GET.
func (n *network) rest(path string) string {
	n.t.Helper()
	w := httptest.NewRecorder()
	n.ServeHTTP(w, localRequest("GET", path, nil))
	return w.Body.String()
}

// unsendable reports whether a key of a vector, which was made with parts of an
// SDK alone, is one that the SDK refuses to send and every server to take.
func unsendable(key string) bool { return strings.ContainsAny(key, ".$#[]/") }

// keysOf returns the keys of a JSON object in the order of its text.
func keysOf(o gjson.Result) []string {
	var keys []string
	o.ForEach(func(k, _ gjson.Result) bool {
		if k.String() != ".priority" {
			keys = append(keys, k.String())
		}
		return true
	})
	return keys
}

func TestWireVectorsKeyOrder(t *testing.T) {
	c := onSocket(t, Options{Dev: true}).connect("")
	var want []string
	for _, v := range wireVectors(t, "key-order").Get("sorted").Array() {
		if key := v.Get("key").String(); !unsendable(key) {
			want = append(want, key)
		}
	}
	shuffled := slices.Clone(want)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, key := range shuffled {
		c.put("/k/"+key, "true")
	}
	got := keysOf(c.get("/k"))
	tied := func(keys []string) { // the SDK has no order for these two
		i, j := slices.Index(keys, "-0"), slices.Index(keys, "00")
		if j >= 0 && i > j {
			keys[i], keys[j] = keys[j], keys[i]
		}
	}
	tied(want)
	if tied(got); !slices.Equal(got, want) {
		t.Errorf("keys in order\n got %q\nwant %q", got, want)
	}
	for i := range want { // windows are cut in the same order
		reply, _ := c.reply("g", fmt.Sprintf(`{"p":"k","q":{"i":".key","l":%d,"vf":"l"}}`, i+1))
		if got := keysOf(reply.Get("d")); len(got) != i+1 {
			t.Errorf("the first %d keys are %q", i+1, got)
		} else if tied(got); i+1 == len(want) && !slices.Equal(got, want) {
			t.Errorf("all keys by window: %q", got)
		}
	}
}

func TestWireVectorsValueOrder(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	file := wireVectors(t, "value-order")
	for _, order := range []struct{ list, index string }{
		{"byValue", ".value"}, {"byPriority", ".priority"}, {"byChild_f_g", "f/g"},
	} {
		c := n.connect("")
		var want []string
		for _, v := range file.Get(order.list).Array() {
			key := v.Get("key").String()
			want = append(want, key)
			switch {
			case order.list == "byPriority":
				c.put("/v/"+key, `{".value":1,".priority":`+v.Get("priority").Raw+"}")
			default:
				c.put("/v/"+key, v.Get("value").Raw)
			}
			if c.get("/v/"+key).Type == gjson.Null { // no value, no child
				want = want[:len(want)-1]
			}
		}
		for i, key := range want { // the i-th child is the last of the first i
			first := c.window(fmt.Sprintf(`{"i":%q,"l":%d,"vf":"l"}`, order.index, i+1))
			before := c.window(fmt.Sprintf(`{"i":%q,"l":%d,"vf":"l"}`, order.index, max(i, 1)))
			if !slices.Contains(first, key) || i > 0 && slices.Contains(before, key) {
				t.Errorf("%s: %s is not child %d: %q", order.list, key, i, first)
			}
		}
		c.put("/v", "null")
	}
}

func (c *wsClient) window(query string) []string {
	c.t.Helper()
	reply, _ := c.reply("g", fmt.Sprintf(`{"p":"v","q":%s}`, query))
	return keysOf(reply.Get("d"))
}

func TestWireVectorsKeyValidity(t *testing.T) {
	c := onSocket(t, Options{Dev: true}).connect("")
	for _, v := range wireVectors(t, "key-validity").Get("cases").Array() {
		raw := v.Get("key").Raw
		// An unpaired surrogate is valid for the SDK, but it can't be sent as
		// UTF-8 and would not come back; the server refuses it.
		valid := v.Get("sdkValid").Bool() && v.Get("utf8Bytes").Int() <= 768 && !strings.Contains(raw, `\ud800`)
		if strings.HasPrefix(v.Get("key").String(), ".") {
			continue // not a key of a child but of the export form
		}
		c.put("/k", "null")
		reply, _ := c.reply("p", `{"p":"/k","d":{`+raw+`:1}}`)
		if got := reply.Get("s").String() == "ok"; got != valid {
			t.Errorf("key %.40s: %s, valid is %v", raw, reply.Raw, valid)
		}
		if got := c.get("/k").Raw; (got != "null") != valid {
			t.Errorf("key %.40s: stored %.60s", raw, got)
		}
	}
}

func TestWireVectorsFrameSplit(t *testing.T) {
	c := onSocket(t, Options{Dev: true}).connect("")
	for _, v := range wireVectors(t, "frame-split").Get("cases").Array() {
		length := int(v.Get("length").Int())
		prefix := `{"t":"d","d":{"r":9,"a":"p","b":{"p":"/f","d":"`
		suffix := `"}}}`
		pad := max(length-len(prefix)-len(suffix), 0)
		text := prefix + strings.Repeat("x", pad) + suffix
		var frames []string
		for i := 0; i < len(text); i += wire.MaxUnit {
			frames = append(frames, text[i:min(i+wire.MaxUnit, len(text))])
		}
		if h := v.Get("header"); h.Type == gjson.String {
			c.send(h.String())
			if len(frames) != int(h.Int()) {
				t.Fatalf("%d frames, header %s", len(frames), h)
			}
		}
		c.send(frames...)
		if got := c.next(); !strings.Contains(got, `"s":"ok"`) {
			t.Fatalf("length %d: %s", length, got)
		}
		if got := c.get("/f"); len(got.String()) != pad {
			t.Errorf("length %d: %d characters stored, want %d", length, len(got.String()), pad)
		}
	}
	// Frames of the server are never cut inside of a surrogate pair: next
	// checks the units of each, and the text must come back whole.
	text := strings.Repeat("x", 16380) + strings.Repeat("😀", 9000)
	c.put("/f", quote(text))
	if got := c.get("/f").String(); got != text {
		t.Errorf("text of surrogate pairs came back with %d bytes, want %d", len(got), len(text))
	}
}

func TestWireVectorsPushIDs(t *testing.T) {
	c := onSocket(t, Options{Dev: true}).connect("")
	for _, v := range wireVectors(t, "push-id").Get("cases").Array() {
		c.put("/p/"+v.Get("id").String(), v.Get("now").Raw)
	}
	var last int64
	c.get("/p").ForEach(func(_, now gjson.Result) bool {
		if now.Int() < last {
			t.Errorf("push ids are not in the order of their times: %d after %d", now.Int(), last)
		}
		last = now.Int()
		return true
	})
}

func TestWireVectorsCompoundHash(t *testing.T) {
	server := onSocket(t, Options{Dev: true})
	for _, v := range wireVectors(t, "compound-hash").Get("cases").Array() {
		c := server.connect("")
		name := v.Get("name").String()
		ch := fmt.Sprintf(`{"hs":%s,"ps":%s}`, v.Get("hs").Raw, v.Get("ps").Raw)
		listen := func(hash string) []gjson.Result {
			reply, pushes := c.reply("q", fmt.Sprintf(`{"p":"c","h":%q,"ch":%s}`, hash, ch))
			if reply.Get("s").String() != "ok" {
				t.Errorf("%s: %s", name, reply.Raw)
			}
			return pushes
		}
		// Something behind all that the client has: only that is sent, so the
		// server must find every one of the client's ranges unchanged.
		value := v.Get("value").Raw
		c.put("/c", value)
		if !strings.HasPrefix(value, "{") || len(v.Get("ps").Array()) == 0 {
			listen("other")
			continue
		}
		c.put("/c/\uffff", `"new"`)
		pushes := listen("other")
		if len(pushes) != 1 || pushes[0].Get("a").String() != "rm" {
			t.Errorf("%s: pushes %v, want one rm", name, pushes)
			continue
		}
		merges := pushes[0].Get("b.d")
		wantJSON(t, name, applyMerges(t, value, merges), c.get("/c").Raw)
		if !strings.HasPrefix(value, `{".`) && !merges.Get("0.s").Exists() && v.Get("ps.0").String() != "/" {
			t.Errorf("%s: the client is sent what it has: %.200s", name, merges.Raw)
		}
	}
}

func TestWireVectorsRangeMerge(t *testing.T) {
	server := onSocket(t, Options{Dev: true})
	for _, v := range wireVectors(t, "range-merge").Get("cases").Array() {
		c := server.connect("")
		// The client has before, the server after: with the bounds of the
		// vector as posts and no right hash, the server must send merges that
		// give after.
		c.put("/r", v.Get("after").Raw)
		var posts []string
		for _, m := range v.Get("merges").Array() {
			for _, bound := range []string{"s", "e"} {
				if b := m.Get(bound); b.Exists() && !slices.Contains(posts, b.String()) {
					posts = append(posts, b.String())
				}
			}
		}
		hashes := make([]string, len(posts)+1)
		for i := range posts {
			hashes[i] = "wrong"
		}
		ps, _ := json.Marshal(posts)
		hs, _ := json.Marshal(hashes)
		if len(posts) == 0 {
			ps = []byte("[]")
		}
		_, pushes := c.reply("q", fmt.Sprintf(`{"p":"r","h":"other","ch":{"hs":%s,"ps":%s}}`, hs, ps))
		if len(pushes) != 1 {
			t.Errorf("%s: pushes %v", v.Get("name"), pushes)
			continue
		}
		got := v.Get("before").Raw
		if d := pushes[0].Get("b.d"); pushes[0].Get("a").String() == "rm" {
			got = applyMerges(t, got, d)
		} else {
			got = d.Raw
		}
		wantJSON(t, v.Get("name").String(), got, v.Get("after").Raw)
	}
}

// applyMerges does what a client does with range merges.
func applyMerges(t *testing.T, before string, merges gjson.Result) string {
	t.Helper()
	d, err := tree.Parse(before, 0, tree.Lenient)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := d.Node()
	for _, m := range merges.Array() {
		var err error
		n, err = tree.RangeMerge{
			Start:    m.Get("s").String(),
			HasStart: m.Get("s").Exists(),
			End:      m.Get("e").String(),
			HasEnd:   m.Get("e").Exists(),
			Value:    tree.MustParseNode(m.Get("m").Raw),
		}.Apply(n)
		if err != nil {
			t.Fatal(err)
		}
	}
	return n.JSON()
}
