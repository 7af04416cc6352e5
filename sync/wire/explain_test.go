package wire

import "testing"

func TestAppendExplain(t *testing.T) {
	for _, test := range []struct {
		text, query, data string
		merge             bool
	}{
		{text: string(AppendExplain(nil, 1, "/a", ""))},
		{text: string(AppendExplain(nil, 1, "/a", `{"l":1}`)), query: `{"l":1}`},
		{text: string(AppendExplainWrite(nil, 1, "/a", `{"b":1}`, false)), data: `{"b":1}`},
		{text: string(AppendExplainWrite(nil, 1, "/a", `{"b":1}`, true)), data: `{"b":1}`, merge: true},
	} {
		m, err := ParseMessage(test.text)
		if err != nil {
			t.Fatal(err)
		}
		b := m.Request.Body
		if m.Request.Action != ActionExplain || b.Path != "/a" || b.Query != test.query || b.Data != test.data || b.HasData != (test.data != "") || b.Merge != test.merge {
			t.Errorf("%s is read as %+v", test.text, m.Request)
		}
	}
	if _, err := ParseMessage(`{"t":"d","d":{"r":1,"a":"x","b":{"p":"/a","d":1,"m":true}}}`); err == nil {
		t.Error("m that is no number is accepted")
	}
}
