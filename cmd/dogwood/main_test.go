package main

import (
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Every command says how it is used, and no flag of a client keeps a secret.
func TestCommandsHaveExamples(t *testing.T) {
	parser, err := kong.New(&commands{}, kong.Vars{"version": ""}, kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range parser.Model.Children {
		if command.Help == "" || !strings.Contains(command.Detail, "Examples:\n\n  dogwood "+command.Name) {
			t.Errorf("%s has no help with examples: %q", command.Name, command.Detail)
		}
		for _, flag := range command.Flags {
			if flag.Help == "" && !flag.Hidden {
				t.Errorf("%s --%s has no help", command.Name, flag.Name)
			}
			if flag.Name == "secret" || flag.Name == "token" || flag.Name == "auth" {
				t.Errorf("%s --%s: everybody on a machine can read command lines", command.Name, flag.Name)
			}
		}
	}
}
