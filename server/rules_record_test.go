package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/server/observe"
)

func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "decisions.jsonl")
	rec, err := observe.OpenRecorder(file)
	if err != nil {
		t.Fatal(err)
	}
	now := time.UnixMilli(1700000000123)
	ts := serveTest(t, Options{Dev: true, Now: func() time.Time { return now }, Decisions: observe.Decisions{Record: rec}})
	ts.want("PUT", "/.settings/rules.json", `{"rules":{"a":{".read":true,".write":"auth != null"},"q":{".read":true,".indexOn":"x"}}}`, 200, answerOK)
	token := unsigned(`{"sub":"ana"}`)
	for _, c := range []call{
		{"GET", "/a.json", nil, ""},
		{"GET", "/b.json", nil, ""},
		{"GET", `/q.json?orderBy="x"&equalTo=1`, nil, ""},
		{"GET", `/q.json?orderBy="$key"&startAfter="a"&endAt="c"&limitToLast=3`, nil, ""},
		{"PUT", "/a/n.json?auth=" + token, nil, `{".sv":"timestamp"}`},
		{"PATCH", "/a.json", nil, `{"x":null,"y/z":"<"}`},
		{"DELETE", "/a.json", bearer("owner"), ""}, // no rule is asked
	} {
		c.target = strings.ReplaceAll(c.target, `"`, "%22")
		ts.do(c)
	}
	if err := ts.shutdown(); err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the recording has mode %v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), token) {
		t.Error("the recording has a token")
	}
	want := []string{
		`"op":"read","path":"/a","auth":null,"now":1700000000123,"allow":true,"rule":"/a/.read"`,
		`"op":"read","path":"/b","auth":null,"now":1700000000123,"allow":false`,
		`"op":"read","path":"/q","auth":null,"query":{"equalTo":1,"orderByChild":"x"},"now":1700000000123,"allow":true,"rule":"/q/.read"`,
		`"op":"read","path":"/q","auth":null,"query":{"endAt":"c","limitToLast":3,"orderByKey":true,"startAfter":"a"},"now":1700000000123,"allow":true,"rule":"/q/.read"`,
		`"op":"write","path":"/a/n","auth":{"token":{"sub":"ana"},"uid":"ana"},"value":1700000000123,"now":1700000000123,"allow":true,"rule":"/a/.write"`,
		`"op":"update","path":"/","auth":null,"values":{"a/x":null,"a/y/z":"\u003c"},"now":1700000000123,"allow":false,"rule":"/a/.write"`,
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != len(want) {
		t.Fatalf("the recording has %d lines:\n%s", len(lines), text)
	}
	for i, line := range lines {
		if got := strings.TrimPrefix(line, `{"time":"2023-11-14T22:13:20.123Z","ns":"fake-server",`); got != want[i]+"}" {
			t.Errorf("line %d is\n%s\nwant\n%s", i, got, want[i])
		}
	}
}
