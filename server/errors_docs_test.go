package server

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The table of REST §8 has every text that clients compare, with the status that it has.
func TestErrorsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/rest.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## 8. ")
	section, _, _ = strings.Cut(section, "\n## 9. ")
	for status, texts := range map[int][]string{
		400: {
			textBadPath, textTooDeep, textNoData, textBadJSON, textBadObject, fmt.Sprintf(textBadKey, 1, 2),
			textReadTooBig, textWriteTooBig, textTimeout, textRange,
		},
		401: {textDenied, textUnauthorized, textBadToken, textExpiredToken, textMissingKid, textUnknownKid},
		404: {textNotFound},
		405: {errMethod.text},
		412: {"The rules have changed."},
		413: {textPayloadTooBig, textTooCostly, errExpansion.text},
		414: {errURLTooLong.text},
		415: {errCoding.text},
		429: {textTooMany},
		500: {textDamaged, textInternal},
		503: {textUnavailable, textUnknown},
	} {
		for _, text := range texts {
			row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d \|[^|]*%s`, status, regexp.QuoteMeta("`"+text+"`")))
			if !row.MatchString(section) {
				t.Errorf("docs/rest.md §8 lacks %d %s", status, text)
			}
		}
	}
}
