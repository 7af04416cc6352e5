package main

import (
	"slices"

	"github.com/alecthomas/kong"
)

// withoutValue returns a flag of the command line whose value is empty, "" if there is none.
// Kong takes that for a value, and an empty path for the working directory: a script with
// --data "$DIR" would use the wrong data if DIR is not set. An empty environment variable
// is as good as none.
func withoutValue(k *kong.Context, args []string) string {
	for _, p := range k.Path {
		if p.Flag == nil || p.Flag.IsBool() {
			continue
		}
		names := []string{"--" + p.Flag.Name}
		for _, alias := range p.Flag.Aliases {
			names = append(names, "--"+alias)
		}
		if p.Flag.Short != 0 {
			names = append(names, "-"+string(p.Flag.Short))
		}
		for _, name := range names {
			if emptyAfter(args, name) {
				return name
			}
		}
	}
	return ""
}

// emptyAfter reports whether args has a flag with an empty value, or at its end with none.
func emptyAfter(args []string, name string) bool {
	if slices.Contains(args, name+"=") {
		return true
	}
	for i, arg := range args {
		if arg == name && (i+1 == len(args) || args[i+1] == "") {
			return true
		}
	}
	return false
}
