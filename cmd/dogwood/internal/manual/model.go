// Package manual makes man pages and completion scripts from the model of the command line,
// so that they say what --help says.
//
// The libraries that complete for kong had no release since 2023, and those that make man
// pages none since 2022.
package manual

import (
	"strings"

	"github.com/alecthomas/kong"
)

// A Source returns the model of the whole command line. A command is usually parsed by a
// model that has nothing else.
type Source struct {
	Model func() (*kong.Application, error)
}

// A command is one of the program, or the program itself.
type command struct {
	path     []string // without the name of the program
	help     string   // one sentence
	detail   string
	usage    string
	flags    []flag
	args     []arg
	children []*command
}

// A flag is one as it is written on the command line.
type flag struct {
	*kong.Flag
	group string // "" for none
}

// An arg is a positional argument.
type arg struct {
	name, help string
	values     []string // nil: any
}

// commandOf returns the command of a node, with those below it that are not hidden.
func commandOf(n *kong.Node, path ...string) *command {
	c := &command{path: path, help: n.Help, detail: n.Detail, usage: usageOf(n)}
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			c.flags = append(c.flags, flag{f, groupOf(f)})
		}
	}
	for _, p := range n.Positional {
		a := arg{name: p.Name, help: p.Help}
		if p.Enum != "" {
			a.values = p.EnumSlice()
		}
		c.args = append(c.args, a)
	}
	for _, child := range n.Children {
		if !child.Hidden {
			c.children = append(c.children, commandOf(child, append(path[:len(path):len(path)], child.Name)...))
		}
	}
	return c
}

func groupOf(f *kong.Flag) string {
	if f.Group == nil {
		return ""
	}
	return f.Group.Title
}

func usageOf(n *kong.Node) string {
	if n.Type == kong.ApplicationNode {
		return n.Name + " <command> [flags]"
	}
	app := n
	for app.Parent != nil {
		app = app.Parent
	}
	return app.Name + " " + n.Summary()
}

// all returns a command and everything below it, in order.
func (c *command) all() []*command {
	list := []*command{c}
	for _, child := range c.children {
		list = append(list, child.all()...)
	}
	return list
}

// name is the path as it is typed after the name of the program.
func (c *command) name() string { return strings.Join(c.path, " ") }

// takesValue reports whether a word follows the flag, or stands behind its =.
func (f flag) takesValue() bool { return !f.IsBool() && !f.IsCounter() }

// takesFile reports whether the value is the name of a file or a directory.
func (f flag) takesFile() bool {
	switch f.Tag.Type {
	case "path", "existingfile", "existingdir", "file", "filecontent":
		return true
	}
	return f.takesValue() && (f.PlaceHolder == "FILE" || f.PlaceHolder == "DIR")
}

// names returns the ways to write the flag.
func (f flag) names() []string {
	list := []string{"--" + f.Name}
	if f.Short != 0 {
		list = append(list, "-"+string(f.Short))
	}
	if f.Tag.Negatable != "" {
		list = append(list, "--no-"+f.Name)
	}
	return list
}

// values returns the values that the flag may have, nil if there are many.
func (f flag) values() []string {
	if f.Enum == "" {
		return nil
	}
	return f.EnumSlice()
}

// oneLine returns the first sentence of a text, without the full stop.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if at := strings.Index(text, ". "); at >= 0 {
		text = text[:at]
	}
	return strings.TrimSuffix(text, ".")
}
