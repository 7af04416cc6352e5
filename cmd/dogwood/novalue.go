package main

import (
	"slices"
	"strings"

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

// flagAsValue returns the first flag of the command line whose value would be another flag of
// the command, as with --data --port 9100, and that other flag. Kong takes anything for a
// value, since one may be a negative number.
func flagAsValue(model *kong.Node, args []string) (flag, value string) {
	takes := make(map[string]bool) // by the flags that there are, whether they take a value
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, f := range n.Flags {
			for _, name := range append([]string{f.Name}, f.Aliases...) {
				other, known := takes["--"+name]
				takes["--"+name] = !f.IsBool() && !f.IsCounter() && (other || !known)
			}
		}
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(model)
	for i := 0; i+1 < len(args) && args[i] != "--"; i++ {
		if !takes[args[i]] {
			continue
		}
		name, _, _ := strings.Cut(args[i+1], "=")
		if _, isFlag := takes[name]; isFlag {
			return args[i], args[i+1]
		}
		i++ // it is a value
	}
	return "", ""
}
