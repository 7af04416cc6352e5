package wire

import "testing"

// The additions to a write go together, in any order.
func TestAppendReturns(t *testing.T) {
	const id = "0f0e0d0c-0b0a-4908-8706-050403020100"
	put := func() []byte { return AppendPut(nil, 1, "/a", `{".sv":{"increment":1}}`) }
	for _, text := range []string{
		string(AppendWriteID(AppendReturns(put()), id, 7)),
		string(AppendReturns(AppendWriteID(put(), id, 7))),
	} {
		m, err := ParseMessage(text)
		b := m.Request.Body
		if err != nil || !b.Returns || b.WriteID != id+":7" || b.Data != `{".sv":{"increment":1}}` || b.Path != "/a" {
			t.Errorf("%s: %+v, %v", text, b, err)
		}
	}
}
