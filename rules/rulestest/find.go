package rulestest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFiles bounds the test files of one run.
const maxFiles = 10_000

// Find returns the test files that the names stand for: files as they are, of
// directories all test files in them and below, without those that begin with a
// dot and without node_modules.
func Find(names ...string) ([]string, error) {
	var files []string
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, name)
			continue
		}
		err = filepath.WalkDir(name, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir():
				base := e.Name()
				if path != name && (base == "node_modules" || strings.HasPrefix(base, ".")) {
					return fs.SkipDir
				}
			case IsTestFile(path):
				files = append(files, path)
			}
			if len(files) > maxFiles {
				return fmt.Errorf("more than %d test files", maxFiles)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// IsTestFile reports whether a file of this name, in a directory that is to be
// tested, is a test file.
func IsTestFile(name string) bool {
	return strings.HasSuffix(name, ".rules-test.json") || strings.HasSuffix("."+filepath.Base(name), ".ops.json")
}
