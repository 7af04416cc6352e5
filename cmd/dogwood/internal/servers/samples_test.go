package servers

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// added are the paths that the demonstration needs in addition to those of the model.
var added = map[string][]string{"chat": {"presence", "typing"}}

var rewrite = flag.Bool("rewrite", false, "pack the samples anew")

// TestSamplesArePacked: the program has the files of the directory samples.
func TestSamplesArePacked(t *testing.T) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	if err := w.AddFS(onlySamples{os.DirFS(".")}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile("samples.zip", packed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		sampleZip = packed.Bytes()
	}
	files := 0
	err := fs.WalkDir(os.DirFS("."), "samples", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		want, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if got, err := fs.ReadFile(sampleFiles(), name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("samples.zip has not %s as it is (%v): go test . -run Samples -rewrite", name, err)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatal(files, err)
	}
}

// onlySamples is a directory without all but its samples.
type onlySamples struct{ fs.FS }

func (o onlySamples) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(o.FS, name)
	if name == "." {
		list = slices.DeleteFunc(list, func(d fs.DirEntry) bool { return d.Name() != "samples" })
	}
	return list, err
}

// The samples are the models that are tested elsewhere.
func TestSamplesAreTheModels(t *testing.T) {
	for _, name := range sampleNames() {
		model := filepath.Join("..", "..", "..", "..", "testdata", "models", name)
		if got, want := readJSON(t, "samples/"+name+".json"), readJSON(t, model+"/data.json"); !reflect.DeepEqual(got, want) {
			t.Errorf("samples/%s.json is not the data of its model", name)
		}
		got, want := readJSON(t, "samples/rules/"+name+".json"), readJSON(t, model+"/rules.json")
		for _, place := range added[name] {
			delete(got["rules"].(map[string]any), place)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("samples/rules/%s.json has not the rules of its model", name)
		}
		if _, err := sampleRules(name); err != nil {
			t.Error(err)
		}
	}
}

func readJSON(t *testing.T, file string) (v map[string]any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}
