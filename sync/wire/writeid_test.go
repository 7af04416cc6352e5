package wire

import "testing"

func TestAppendWriteID(t *testing.T) {
	const writer = "2f1c0b1e-58a3-4d0f-8a56-0d6c0c1b9e9e"
	for _, test := range []struct{ request, want string }{
		{
			string(AppendPut(nil, 7, "/a", `{"x":{}}`)),
			`{"t":"d","d":{"r":7,"a":"p","b":{"p":"/a","d":{"x":{}},"w":"` + writer + `:12"}}}`,
		}, {
			string(AppendPutIf(nil, 7, "/a", `1`, "h=")),
			`{"t":"d","d":{"r":7,"a":"p","b":{"p":"/a","d":1,"h":"h=","w":"` + writer + `:12"}}}`,
		}, {
			string(AppendMerge(nil, 8, "/", `{"a/b":1}`)),
			`{"t":"d","d":{"r":8,"a":"m","b":{"p":"/","d":{"a/b":1},"w":"` + writer + `:12"}}}`,
		},
	} {
		if got := string(AppendWriteID([]byte(test.request), writer, 12)); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
		if _, err := ParseMessage(test.want); err != nil {
			t.Errorf("%s: %v", test.want, err)
		}
	}
}
