package server

import "testing"

// The extensions are the same over both transports of the realtime protocol.
func TestExtensionsOverBothTransports(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	b := n.browser()
	b.start("")
	c := n.connect("")
	c.do("p", `{"p":"/keys","d":{"a":1,"b":2}}`)
	c.do("p", `{"p":"/v","d":{"a":"A"}}`)
	for i, e := range []struct{ action, body, want string }{
		{"bg", `{"g":[{"p":"/v"},{"k":"/keys","c":"/v/$key"}]}`, `{"rev":2,"v":[{"d":{"a":"A"}},{"k":["a","b"],"v":{"a":"A"},"e":{}}]}`},
		{"cn", `{"p":"/keys"}`, `{"n":2}`},
		{"ls", `{"p":"/keys"}`, `{"revision":2,"count":2,"children":[{"k":"a","t":"n","v":1},{"k":"b","t":"n","v":2}],"more":false}`},
		{"ls", `{"p":"/keys","q":{"i":".value","l":1,"vf":"r"},"desc":1}`, `{"revision":2,"count":2,"children":[{"k":"b","t":"n","v":2}],"more":true}`},
		{"x", `{"p":"/v/a"}`, `{"path":"/v/a","query":{},"plan":"leaf","index":null,"visited":0,"rows":1,"results":1,"bytes":3,"revision":2,"rules":{"allowed":true,"evaluated":1}}`},
		{"p", `{"p":"/n","d":{"x":{".sv":{"increment":0}},"y":1},"v":1}`, `{"v":{"x":0}}`},
		{"o", `{"p":"/n/x","d":1,"if":{"p":"","d":0}}`, `""`},
		{"g", `{"p":"/v/a","q":{},"h":""}`, `{"v":"A"}`},
	} {
		b.want(ask(10+i, e.action, e.body), okReply(10+i, e.want))
		r := c.request(e.action, e.body)
		if got := c.next(); got != okReply(r, e.want) {
			t.Errorf("%s over WebSocket: %s, want %s", e.action, got, e.want)
		}
	}
}
