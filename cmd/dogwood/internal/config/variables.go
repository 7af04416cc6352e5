package config

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// UnknownVariables returns a warning for each variable of the environment that begins with prefix
// and is no setting of any command, but has nearly the name of one. Others may have another
// purpose, as those that Kubernetes makes of the name of a service. model is called if there
// are such variables at all.
func UnknownVariables(prefix string, model func() (*kong.Application, error)) (warnings []string) {
	known := map[string]bool{prefix + "SECRET": true}
	var names []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if names == nil {
			app, err := model()
			if err != nil {
				return nil
			}
			names = variablesOf(app.Node, known)
		}
		if near := lang.Nearest(name, names); !known[name] && near != "" {
			warnings = append(warnings, fmt.Sprintf("the variable %s is no setting; did you mean %s?", name, near))
		}
	}
	return warnings
}

// variablesOf returns the variables of the flags of a command and of those below it, and adds
// them to known.
func variablesOf(n *kong.Node, known map[string]bool) (names []string) {
	for _, f := range n.Flags {
		for _, name := range f.Envs {
			names, known[name] = append(names, name), true
		}
	}
	for _, child := range n.Children {
		names = append(names, variablesOf(child, known)...)
	}
	return names
}
