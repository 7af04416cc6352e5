package servers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// added are the paths that the demonstration needs in addition to those of the model.
var added = map[string][]string{"chat": {"presence", "typing"}}

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
