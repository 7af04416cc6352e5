package wire

import "testing"

func TestAppendOnlyIf(t *testing.T) {
	text := string(AppendOnlyIf(AppendDisconnect(nil, 1, ActionDisconnectPut, "/a", `{"x":1}`), `s"`, `{"y":2}`))
	m, err := ParseMessage(text)
	if b := m.Request.Body; err != nil || b.OnlyIf != `{"p":"s\"","d":{"y":2}}` || b.Data != `{"x":1}` {
		t.Errorf("%s: %+v, %v", text, b, err)
	}
}
