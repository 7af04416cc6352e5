package tree

// priorityKey is the place of an object's priority among its children.
const (
	priorityKey    = ".priority"
	quotedPriority = `"` + priorityKey + `"`
)

// A bracketWriter writes leaves that come in key order as nested text, such as
// {"a":{"b":1,"c":2}}: it opens and closes only what is not shared with the
// leaf before. Range merges use braces, range hashes parentheses.
//
// It exists because range hashes and range merges walk leaves, not objects: a
// range may begin and end anywhere inside of nested objects.
type bracketWriter struct {
	brackets string
	buf      []byte
	keys     []string // on the way to the current position, quoted
	open     []int    // offsets in buf behind the brackets that are open
	shared   int      // how many of keys lead to the last leaf, too
}

func (t *bracketWriter) push(quoted string) { t.keys = append(t.keys, quoted) }

func (t *bracketWriter) pop() {
	t.keys = t.keys[:len(t.keys)-1]
	t.shared = min(t.shared, len(t.keys))
}

// start writes all that stands before a leaf at the current position, which
// the caller appends to buf.
func (t *bracketWriter) start() {
	if len(t.open) > 0 {
		t.closeTo(t.shared + 1)
		t.buf = append(t.buf, ',')
	}
	for i, key := range t.keys[t.shared:] {
		if t.shared+i == len(t.open) {
			t.buf = append(t.buf, t.brackets[0])
			t.open = append(t.open, len(t.buf))
		}
		t.buf = append(append(t.buf, key...), ':')
	}
	t.shared = len(t.keys)
}

func (t *bracketWriter) closeTo(levels int) {
	for len(t.open) > levels {
		t.buf = append(t.buf, t.brackets[1])
		t.open = t.open[:len(t.open)-1]
	}
}

// isOpen reports whether there is a leaf below the current position.
func (t *bracketWriter) isOpen() bool { return t.shared == len(t.keys) && len(t.open) > len(t.keys) }

// end completes the text and starts the next one. The result is valid until
// the next call.
func (t *bracketWriter) end() []byte {
	t.closeTo(0)
	text := t.buf
	t.buf, t.shared = t.buf[:0], 0
	return text
}
