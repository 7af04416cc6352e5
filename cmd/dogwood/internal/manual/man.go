package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/build"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// Man writes the man pages, for packages of the program.
type Man struct {
	Dir string `arg:"" help:"Directory to write them into. It is created if it does not exist." type:"path"`
}

func (Man) Help() string {
	return `Writes a page for the program and one for each command, for section 1 of the manual.
Packages of Dogwood have them already.

Examples:

  dogwood man ~/.local/share/man/man1
  man dogwood-serve`
}

// Run writes the pages.
func (c *Man) Run(e *console.Env, s *Source) error {
	app, err := s.Model()
	if err != nil {
		return err
	}
	const everyone = 0o755 // as directories of manuals are
	if err := os.MkdirAll(c.Dir, everyone); err != nil {
		return err
	}
	for _, p := range commandOf(app.Node).all() {
		const readable = 0o644
		if err := os.WriteFile(filepath.Join(c.Dir, p.page()+".1"), []byte(p.man(app.Name)), readable); err != nil {
			return err
		}
	}
	return nil
}

// page is the name of the page of a command.
func (c *command) page() string { return strings.Join(append([]string{"dogwood"}, c.path...), "-") }

// A roff is a page that is being written.
type roff struct{ strings.Builder }

// man returns the page of a command, in the macros of man(7).
func (c *command) man(program string) string {
	w := new(roff)
	fmt.Fprintf(w, ".TH %s 1 \"%s\" \"Dogwood %s\" \"Dogwood\"\n", strings.ToUpper(escapeRoff(c.page())), build.Date(), escapeRoff(build.Version))
	w.section("NAME")
	w.text(c.page() + ` - ` + oneLine(c.help))
	w.section("SYNOPSIS")
	w.text(c.usage)
	w.section("DESCRIPTION")
	detail, examples, _ := strings.Cut(c.detail, "Examples:\n")
	w.paragraphs(c.help + "\n\n" + detail)
	w.arguments(c)
	w.options(c)
	w.commands(c)
	if examples != "" {
		w.section("EXAMPLES")
		w.block(examples)
	}
	w.section("EXIT STATUS")
	w.text("0 for success, 1 for a failure, 2 for a wrong command line or file.")
	w.section("SEE ALSO")
	w.text(seeAlso(c, program))
	return w.String()
}

func seeAlso(c *command, program string) string {
	var pages []string
	for i := range c.path {
		pages = append(pages, strings.Join(append([]string{program}, c.path[:i]...), "-")+"(1)")
	}
	for _, child := range c.children {
		pages = append(pages, child.page()+"(1)")
	}
	return strings.Join(pages, ", ")
}

func (w *roff) section(name string) { fmt.Fprintf(w, ".SH %s\n", name) }

// text writes one paragraph.
func (w *roff) text(s string) { fmt.Fprintln(w, escapeRoff(strings.Join(strings.Fields(s), " "))) }

// paragraphs writes text with empty lines between its paragraphs. Indented ones stay as
// they are.
func (w *roff) paragraphs(s string) {
	first := true
	for p := range strings.SplitSeq(strings.Trim(s, "\n"), "\n\n") {
		if strings.TrimSpace(p) == "" {
			continue
		}
		if !first {
			fmt.Fprintln(w, ".PP")
		}
		if first = false; strings.HasPrefix(p, " ") {
			w.block(p)
		} else {
			w.text(p)
		}
	}
}

// block writes lines as they are.
func (w *roff) block(s string) {
	fmt.Fprintln(w, ".nf")
	for line := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		fmt.Fprintln(w, escapeRoff(line))
	}
	fmt.Fprintln(w, ".fi")
}

func (w *roff) arguments(c *command) {
	if len(c.args) == 0 {
		return
	}
	w.section("ARGUMENTS")
	for _, a := range c.args {
		fmt.Fprintf(w, ".TP\n.I %s\n", escapeRoff(a.name))
		w.text(a.help)
	}
}

func (w *roff) options(c *command) {
	w.section("OPTIONS")
	var groups []string // in the order of their first flags, those without a group first
	byGroup := map[string][]flag{}
	for _, f := range c.flags {
		if byGroup[f.group] == nil && f.group != "" {
			groups = append(groups, f.group)
		}
		byGroup[f.group] = append(byGroup[f.group], f)
	}
	for _, group := range append([]string{""}, groups...) {
		if group != "" {
			fmt.Fprintf(w, ".SS %s\n", escapeRoff(group))
		}
		for _, f := range byGroup[group] {
			w.option(f)
		}
	}
}

func (w *roff) option(f flag) {
	name := `\fB\-\-` + escapeRoff(f.Name) + `\fR`
	if f.Tag.Negatable != "" {
		name = `\fB\-\-[no\-]` + escapeRoff(f.Name) + `\fR`
	}
	if f.Short != 0 {
		name = `\fB\-` + string(f.Short) + `\fR, ` + name
	}
	if f.takesValue() {
		name += `=\fI` + escapeRoff(f.FormatPlaceHolder()) + `\fR`
	}
	fmt.Fprintf(w, ".TP\n%s\n", name)
	w.text(kong.DefaultHelpValueFormatter(f.Value))
}

func (w *roff) commands(c *command) {
	if len(c.children) == 0 {
		return
	}
	w.section("COMMANDS")
	for _, child := range c.children {
		fmt.Fprintf(w, ".TP\n.B %s\n", escapeRoff(child.name()))
		w.text(child.help)
	}
}

// escapeRoff returns text as roff prints it: hyphens can be copied to a shell, and no line
// begins as a request does.
func escapeRoff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
