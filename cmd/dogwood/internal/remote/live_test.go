package remote

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
)

func TestLiveView(t *testing.T) {
	var b strings.Builder
	v := &liveView{w: &b, title: "http://localhost/rooms", draw: true}
	for _, step := range []struct {
		name, data string
		more       bool
		want       string
	}{
		{"put", `{"path":"/","data":{"a":1}}`, false, "{\n  \"a\" : 1\n}"},
		{"put", `{"path":"/b/c","data":[true]}`, false, "{\n  \"a\" : 1,\n  \"b\" : {\n    \"c\" : [ true ]\n  }\n}"},
		{"patch", `{"path":"/","data":{"a":null,"b/c":2}}`, true, ""},
		{"patch", `{"path":"/b","data":{"d":3}}`, false, "{\n  \"b\" : {\n    \"c\" : 2,\n    \"d\" : 3\n  }\n}"},
		{"put", `{"path":"/","data":{"a":"\u001b[2J\u009b1m","":"‮"}}`, false, "{\n  \"a\" : \"\\u001b[2J\\u009b1m\",\n  \"\\u009b\" : \"\\u202e\"\n}"},
		{"put", `{"path":"/","data":null}`, false, "null"},
	} {
		b.Reset()
		if err := v.show(client.Event{Name: step.name, Data: []byte(step.data)}, step.more); err != nil {
			t.Errorf("%s %s: %v", step.name, step.data, err)
		}
		want := ""
		if step.want != "" {
			want = "\x1b[H\x1b[Jhttp://localhost/rooms\n\n" + step.want + "\n"
		}
		if b.String() != want {
			t.Errorf("%s %s shows %q, want %q", step.name, step.data, b.String(), want)
		}
	}
	b.Reset()
	if err := v.settle(); err != nil || b.String() != "\x1b[H\x1b[Jhttp://localhost/rooms\n\nnull\n" {
		t.Errorf("settled it shows %q, %v", b.String(), err)
	}
	v.draw = false
	b.Reset()
	if err := v.settle(); err != nil || b.String() != "" {
		t.Errorf("settled in a pipe it shows %q, %v", b.String(), err)
	}
	for _, data := range []string{"null and void", `{"path":"/a#b","data":1}`, `{"path":"/","data":{"a.b":1}}`} {
		if err := v.show(client.Event{Name: "put", Data: []byte(data)}, false); err == nil {
			t.Errorf("put %s: no error", data)
		}
	}
}
