package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
)

// Errors writes what is wrong in a document: for each error the file, the
// position and the message, and below it the line with a caret, what the message leaves
// out, and the name that an unknown one resembles. The messages are Firebase's, which clients
// compare (rules §1.4); so hints are lines of their own. An error is that of w. An error of the
// document without a line in the source, or with one beyond it, has no excerpt.
//
//	database.rules.json:3:15: Unknown variable 'auht'.
//	    ".read": "auht != null"
//	              ^
//	    did you mean auth?
func Errors(w io.Writer, file, source string, errs rules.Errors) error {
	lines := strings.Split(strings.TrimPrefix(source, "\uFEFF"), "\n")
	var b strings.Builder
	for _, e := range errs.All() {
		fmt.Fprintf(&b, "%s\n", escape(file+":"+e.Error()))
		if e.Pos.Line >= 1 && e.Pos.Line <= len(lines) {
			b.WriteString(excerpt(lines[e.Pos.Line-1], e.Pos.Col))
		}
		if e.Detail != "" {
			fmt.Fprintf(&b, "    %s\n", escape(e.Detail))
		}
		if e.Meant != "" {
			fmt.Fprintf(&b, "    did you mean %s?\n", escape(e.Meant))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// excerpt returns a line with a caret below a column. Of a long line it is the
// part around the column. Columns count characters from 1, as rules.Pos does.
func excerpt(line string, col int) string {
	text := []rune(clean(strings.TrimRight(line, "\r")))
	at := min(max(col-1, 0), len(text))
	from := 0
	if at > maxLine {
		from = at - maxLine/2
	}
	to := min(from+2*maxLine, len(text))
	for from < at && text[from] == ' ' {
		from++ // indentation tells nothing
	}
	return fmt.Sprintf("    %s\n    %s^\n", string(text[from:to]), strings.Repeat(" ", at-from))
}
