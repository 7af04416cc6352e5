package sync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/sync/fault"
)

// TestManyValues: a message of many short values is refused whatever writes it, and
// changes nothing.
func TestManyValues(t *testing.T) {
	db := openTest(t, Options{})
	var reached []fault.Bound
	c := connect(t, db, "ana", 0)
	c.session.limited = func(b fault.Bound) { reached = append(reached, b) }
	defer c.session.Close()
	many := "[" + strings.Repeat("1,", MaxValues) + "1]"
	for i, action := range []string{"p", "m", "o", "om"} {
		data := many
		if strings.HasSuffix(action, "m") {
			data = `{"n":` + many + `}`
		}
		c.send(fmt.Sprintf(`{"r":%d,"a":%q,"b":{"p":"/a","d":%s}}`, i, action, data))
		c.settle()
		want := fmt.Sprintf(`{"r":%d,"b":{"s":"too_big","d":%q}}`, i, strings.TrimSuffix(fault.TextWriteTooBig, ".")+"; one write has at most 1048576 values")
		if got := strings.Join(c.frames(), " "); got != want {
			t.Errorf("%s: %.200s, want %s", action, got, want)
		}
	}
	if len(reached) != 4 || reached[0] != fault.BoundValues {
		t.Errorf("the bounds %v were reached", reached)
	}
	want(t, db, "/", "null")
	if err := CheckValues(Admin, many); err != nil {
		t.Errorf("an administrator's write: %v", err)
	}
}
