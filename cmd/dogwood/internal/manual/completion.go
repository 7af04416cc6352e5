package manual

import (
	"fmt"
	"io"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// Completion prints the script that completes command lines in a shell.
//
// The scripts know all commands and flags, so a press of the Tab key starts no process.
type Completion struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

func (Completion) Help() string {
	return `Prints a script that completes commands, flags and file names. Packages of Dogwood
have the scripts already.

Examples:

  dogwood completion bash >~/.local/share/bash-completion/completions/dogwood
  dogwood completion zsh >"${fpath[1]}/_dogwood"
  dogwood completion fish >~/.config/fish/completions/dogwood.fish
  eval "$(dogwood completion bash)"`
}

// Run prints the script.
func (c *Completion) Run(e *console.Env, s *Source) error {
	app, err := s.Model()
	if err != nil {
		return err
	}
	write := map[string]func(io.Writer, []*command){"bash": writeBash, "zsh": writeZsh, "fish": writeFish}[c.Shell]
	var script strings.Builder
	write(&script, commandOf(app.Node).all())
	_, err = io.WriteString(e.Stdout, script.String())
	return err
}

// writeCases writes the cases that find the command from its words: the command so far and
// the next word, as in "rules check".
func writeCases(w io.Writer, all []*command) {
	for _, c := range all {
		if len(c.path) > 0 {
			last := len(c.path) - 1
			fmt.Fprintf(w, "      '%s %s') command='%s' ;;\n", strings.Join(c.path[:last], " "), c.path[last], c.name())
		}
	}
}

// writeValueCases writes the cases for the word behind a flag: the command and the flag.
// files and words make the commands of the shell for names of files and for certain words,
// and none that for any other value.
func writeValueCases(w io.Writer, all []*command, files, none string, words func([]string) string) {
	for _, c := range all {
		for _, f := range c.flags {
			if !f.takesValue() {
				continue
			}
			var patterns []string
			for _, name := range f.names() {
				patterns = append(patterns, fmt.Sprintf("'%s %s'", c.name(), name))
			}
			do := none
			switch {
			case f.values() != nil:
				do = words(f.values())
			case f.takesFile():
				do = files
			}
			fmt.Fprintf(w, "    %s) %s ;;\n", strings.Join(patterns, "|"), do)
		}
	}
}

func writeBash(w io.Writer, all []*command) {
	fmt.Fprint(w, `# Completes command lines of dogwood in bash.
_dogwood() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= words= i
  COMPREPLY=()
  # bash makes a word of =, too.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
`)
	writeCases(w, all)
	fmt.Fprint(w, `    esac
  done
  case "$command $previous" in
`)
	// Without words, bash completes names of files (-o default).
	writeValueCases(w, all, "return", "return", func(values []string) string {
		return fmt.Sprintf(`COMPREPLY=($(compgen -W '%s' -- "$current")); return`, strings.Join(values, " "))
	})
	fmt.Fprint(w, `  esac
  case "$command" in
`)
	for _, c := range all {
		flags, words := "", ""
		for _, f := range c.flags {
			flags += strings.Join(f.names(), " ") + " "
		}
		for _, child := range c.children {
			words += child.path[len(child.path)-1] + " "
		}
		if len(c.args) > 0 {
			words += strings.Join(c.args[0].values, " ")
		}
		fmt.Fprintf(w, "    '%s') if [[ $current == -* ]]; then words='%s'; else words='%s'; fi ;;\n", c.name(), strings.TrimSpace(flags), strings.TrimSpace(words))
	}
	fmt.Fprint(w, `  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _dogwood dogwood
`)
}

func writeZsh(w io.Writer, all []*command) {
	fmt.Fprint(w, `#compdef dogwood
# Completes command lines of dogwood in zsh.
_dogwood() {
  local command= previous=$words[CURRENT-1] i
  local -a choices
  if [[ $words[CURRENT] == --*=* ]]; then
    previous=${words[CURRENT]%%=*}
    compset -P '*='
  fi
  for ((i = 2; i < CURRENT; i++)); do
    case "$command $words[i]" in
`)
	writeCases(w, all)
	fmt.Fprint(w, `    esac
  done
  case "$command $previous" in
`)
	writeValueCases(w, all, "_files; return", "return 1", func(values []string) string {
		return fmt.Sprintf(`compadd -- %s; return`, strings.Join(values, " "))
	})
	fmt.Fprint(w, `  esac
  if [[ $words[CURRENT] == -* ]]; then
    case "$command" in
`)
	for _, c := range all {
		fmt.Fprintf(w, "      '%s') choices=(", c.name())
		for _, f := range c.flags {
			for _, name := range f.names() {
				fmt.Fprintf(w, " '%s:%s'", name, quoteZsh(f.Help))
			}
		}
		fmt.Fprint(w, " ) ;;\n")
	}
	fmt.Fprint(w, `    esac
    _describe -o flag choices
    return
  fi
  case "$command" in
`)
	for _, c := range all {
		var choices strings.Builder
		for _, child := range c.children {
			fmt.Fprintf(&choices, " '%s:%s'", child.path[len(child.path)-1], quoteZsh(child.help))
		}
		switch {
		case choices.Len() > 0:
			fmt.Fprintf(w, "    '%s') choices=(%s ); _describe command choices ;;\n", c.name(), &choices)
		case len(c.args) > 0 && c.args[0].values != nil:
			fmt.Fprintf(w, "    '%s') compadd -- %s ;;\n", c.name(), strings.Join(c.args[0].values, " "))
		}
	}
	fmt.Fprint(w, `    *) _files ;;
  esac
}
if [[ $funcstack[1] == _dogwood ]]; then
  _dogwood "$@"
else
  compdef _dogwood dogwood
fi
`)
}

func writeFish(w io.Writer, all []*command) {
	fmt.Fprint(w, `# Completes command lines of dogwood in fish.
function __dogwood_command
  set -l command ''
  for word in (commandline -opc)[2..-1]
    switch "$command $word"
`)
	for _, c := range all {
		if last := len(c.path) - 1; last >= 0 {
			fmt.Fprintf(w, "      case '%s %s'\n        set command '%s'\n", strings.Join(c.path[:last], " "), c.path[last], c.name())
		}
	}
	fmt.Fprint(w, `    end
  end
  test "$command" = "$argv[1]"
end
`)
	for _, c := range all {
		here := fmt.Sprintf(`complete -c dogwood -n "__dogwood_command '%s'"`, c.name())
		for _, child := range c.children {
			fmt.Fprintf(w, "%s -f -a %s -d '%s'\n", here, child.path[len(child.path)-1], quoteFish(oneLine(child.help)))
		}
		if len(c.args) > 0 && c.args[0].values != nil {
			fmt.Fprintf(w, "%s -f -a '%s'\n", here, strings.Join(c.args[0].values, " "))
		}
		for _, f := range c.flags {
			line := here + " -l " + f.Name
			if f.Short != 0 {
				line += " -s " + string(f.Short)
			}
			switch {
			case f.values() != nil:
				line += fmt.Sprintf(" -x -a '%s'", strings.Join(f.values(), " "))
			case f.takesFile():
				line += " -r -F"
			case f.takesValue():
				line += " -x"
			}
			fmt.Fprintf(w, "%s -d '%s'\n", line, quoteFish(oneLine(f.Help)))
			if f.Tag.Negatable != "" {
				fmt.Fprintf(w, "%s -l no-%s\n", here, f.Name)
			}
		}
	}
}

// quoteZsh returns one line for between single quotes, in which a colon ends the name.
func quoteZsh(help string) string {
	return strings.NewReplacer(`'`, `'\''`, `:`, `\:`, "`", "").Replace(oneLine(help))
}

func quoteFish(help string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(help)
}
