package store

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// docs/storage.md has every bucket, and the sizes that this package has.
func TestStorageIsDocumented(t *testing.T) {
	file, err := os.ReadFile("../../docs/storage.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(file)), " ")
	texts := []string{
		fmt.Sprintf("a whole subtree of up to %d,%03d bytes", PackLimit/1000, PackLimit%1000),
		fmt.Sprintf("cut into chunks of %d KiB in bucket `b`", chunkBytes>>10),
		fmt.Sprintf("up to %d bytes of it, sorted as UTF-16", maxIndexed),
	}
	for _, b := range kv.Buckets {
		texts = append(texts, fmt.Sprintf("| `%c` | ", b))
	}
	for _, class := range []byte{classNull, classFalse, classTrue, classNumber, classString, classObject} {
		texts = append(texts, fmt.Sprintf("`%x` ", class))
	}
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("docs/storage.md lacks %q", text)
		}
	}
}
