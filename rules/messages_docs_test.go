package rules

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The table of rules §1.4 has every text that an upload may be refused with.
func TestMessagesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### 1.4 ")
	section, _, _ = strings.Cut(section, "\n## 2. ")
	constant := regexp.MustCompile("(?m)^\tmsg\\w+ += (\".*\"|`.*`)$")
	found := 0
	for _, file := range []string{"errors.go", "document.go", "lang/messages.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range constant.FindAllStringSubmatch(string(source), -1) {
			text, err := strconv.Unquote(m[1])
			if err != nil {
				t.Fatalf("%s: %v", m[1], err)
			}
			found++
			pattern := strings.NewReplacer("%s", "[^`]+", "%d", "[0-9]+").Replace(regexp.QuoteMeta(text))
			if !regexp.MustCompile("`" + pattern + "`").MatchString(section) {
				t.Errorf("docs/rules.md §1.4 lacks %q of %s", text, file)
			}
		}
	}
	if found < 50 {
		t.Errorf("found %d texts in the sources, want at least 50", found)
	}
}
