package shell

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/remote"
	"github.com/dogwooddb/dogwood/tree"
)

// A command is the first word of a line.
type command struct {
	name, other string
	usage, help string
	run         func(s *session, rest string) error
}

func commands() []command {
	return []command{
		{"get", "", "get [PATH] [QUERY]", "print the value; QUERY is --order-by NAME --limit-to-last 10 …", (*session).get},
		{"set", "put", "set PATH JSON", "replace the value", (*session).set},
		{"update", "patch", "update PATH JSON", "write several paths below a path at once", (*session).update},
		{"push", "", "push PATH JSON", "add a child under a new key", (*session).push},
		{"remove", "rm", "remove PATH", "delete the value", (*session).remove},
		{"ls", "", "ls [PATH]", "list the keys of the children", (*session).list},
		{"cd", "", "cd [PATH]", "change the current path; .. is the parent, / or nothing the root", (*session).enter},
		{"watch", "", "watch [PATH] [QUERY]", "follow the value; Enter ends that", (*session).watch},
		{"explain", "", "explain [PATH] [QUERY]", "show what a read costs", (*session).explain},
		{"help", "?", "help", "print this list", (*session).help},
		{"quit", "exit", "quit", "end, as Ctrl-D does", func(*session, string) error { return errQuit }},
	}
}

func (s *session) help(string) error {
	for _, c := range commands() {
		fmt.Fprintf(s.Stdout, "%-24s %s\n", c.usage, c.help)
	}
	fmt.Fprint(s.Stdout, "A PATH is below the current one unless it begins with /. One with blanks is written in \"quotes\".\n")
	return nil
}

// cutPath reads the path that a line begins with, and returns what is behind it.
func (s *session) cutPath(line string) (path tree.Path, rest string, err error) {
	text, rest, _ := strings.Cut(line, " ")
	if strings.HasPrefix(line, `"`) {
		d := json.NewDecoder(strings.NewReader(line))
		if err := d.Decode(&text); err != nil {
			return path, "", errors.New("the path has no closing quote")
		}
		rest = line[d.InputOffset():]
	}
	path, err = s.resolve(text)
	return path, strings.TrimSpace(rest), err
}

// resolve returns the path that a text means at the current one.
func (s *session) resolve(text string) (tree.Path, error) {
	var keys []string
	if !strings.HasPrefix(text, "/") {
		keys = keysOf(s.at.String())
	}
	for _, key := range keysOf(text) {
		switch key {
		case ".":
		case "..":
			keys = keys[:max(0, len(keys)-1)]
		default:
			keys = append(keys, key)
		}
	}
	return tree.ParsePath("/" + strings.Join(keys, "/"))
}

func keysOf(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(key string) bool { return key == "" })
}

// A question is a path with the flags of a query.
type question struct {
	Rest []string `arg:"" optional:""`
	client.QueryFlags
}

// ask reads a path and a query.
func (s *session) ask(line string) (path tree.Path, q client.QueryFlags, err error) {
	path, rest := s.at, line
	if line != "" && !strings.HasPrefix(line, "-") {
		if path, rest, err = s.cutPath(line); err != nil {
			return path, q, err
		}
	}
	var asked question
	parser, err := kong.New(&asked, kong.NoDefaultHelp(), kong.Writers(io.Discard, io.Discard), kong.WithHyphenPrefixedParameters(true))
	if err != nil {
		return path, q, err
	}
	if _, err = parser.Parse(strings.Fields(rest)); err == nil && len(asked.Rest) > 0 {
		err = fmt.Errorf("%q is too much; a query is written with flags, such as --limit-to-last 10", asked.Rest[0])
	}
	return path, asked.QueryFlags, err
}

func (s *session) get(line string) error {
	path, q, err := s.ask(line)
	if err != nil {
		return err
	}
	return (&remote.Get{Path: path.String(), QueryFlags: q, Flags: s.flags}).Run(s.Env)
}

func (s *session) explain(line string) error {
	path, q, err := s.ask(line)
	if err != nil {
		return err
	}
	return (&remote.Explain{Path: path.String(), QueryFlags: q, Flags: s.flags}).Run(s.Env)
}

// data reads "PATH JSON".
func (s *session) data(line string) (path string, data client.DataFlags, err error) {
	if line == "" {
		return "", data, errors.New("a path and JSON are needed")
	}
	p, text, err := s.cutPath(line)
	if err == nil && text == "" {
		err = errors.New("JSON is needed behind the path")
	}
	return p.String(), client.DataFlags{Data: &text}, err
}

func (s *session) set(line string) error {
	path, data, err := s.data(line)
	if err != nil {
		return err
	}
	if err := s.confirm(path, *data.Data == "null", s.yes); err != nil {
		return err
	}
	return (&remote.Set{Path: path, DataFlags: data, Sure: console.Sure{Yes: true}, Flags: s.flags}).Run(s.Env)
}

func (s *session) update(line string) error {
	path, data, err := s.data(line)
	if err != nil {
		return err
	}
	return (&remote.Update{Path: path, DataFlags: data, Flags: s.flags}).Run(s.Env)
}

func (s *session) push(line string) error {
	path, data, err := s.data(line)
	if err != nil {
		return err
	}
	return (&remote.Push{Path: path, DataFlags: data, Flags: s.flags}).Run(s.Env)
}

func (s *session) remove(line string) error {
	if line == "" {
		return errors.New("a path is needed; . is the current one")
	}
	path, rest, err := s.cutPath(line)
	if err != nil {
		return err
	}
	sure := rest == "--yes" || rest == "--force"
	if rest != "" && !sure {
		return fmt.Errorf("%q is too much", rest)
	}
	if err := s.confirm(path.String(), true, s.yes || sure); err != nil {
		return err
	}
	return (&remote.Remove{Path: path.String(), Sure: console.Sure{Yes: true}, Flags: s.flags}).Run(s.Env)
}

// confirm asks before the whole database is deleted.
func (s *session) confirm(path string, deletes, yes bool) error {
	if !deletes || yes || len(keysOf(path)) > 0 {
		return nil
	}
	if s.edit == nil {
		return remote.ErrNeedsYes
	}
	answer, err := s.edit.read(fmt.Sprintf("This deletes the whole database at %s. Go on? [y/N] ", s.db.Place("/")))
	if answer = strings.ToLower(strings.TrimSpace(answer)); err == nil && answer != "y" && answer != "yes" {
		err = errors.New("nothing was changed")
	}
	if err == io.EOF {
		return errQuit
	}
	return err
}

// maxListed bounds the keys of one list.
const maxListed = 1000

func (s *session) list(line string) error {
	path, q, err := s.ask(line)
	if err != nil {
		return err
	}
	most := maxListed + 1
	if q.LimitToFirst == nil && q.LimitToLast == nil {
		q.LimitToFirst = &most
	}
	values, err := q.Values(true)
	if err != nil {
		return err
	}
	r, err := s.db.Request(s.Ctx, http.MethodGet, path.String(), values, nil)
	if err != nil {
		return err
	}
	var value any
	if err := s.db.Read(r, "list of keys", &value); err != nil {
		return err
	}
	children, ok := value.(map[string]any)
	if !ok {
		if value != nil {
			fmt.Fprintf(s.Stdout, "%s is a value without children; get prints it\n", path)
		}
		return nil
	}
	var keys []string
	for key := range children {
		keys = append(keys, key)
	}
	tree.SortKeys(keys)
	for _, key := range keys[:min(len(keys), maxListed)] {
		fmt.Fprintln(s.Stdout, key)
	}
	if len(keys) > maxListed {
		fmt.Fprintf(s.Stdout, "… and more; ls --start-after %s goes on\n", keys[maxListed-1])
	}
	return nil
}

func (s *session) enter(line string) error {
	if line == "" {
		line = "/"
	}
	path, rest, err := s.cutPath(line)
	if err == nil && rest != "" {
		err = fmt.Errorf("%q is too much", rest)
	}
	if err == nil {
		s.at = path
	}
	return err
}

// watch follows a value until the person presses Enter, or the command is interrupted.
func (s *session) watch(line string) error {
	path, q, err := s.ask(line)
	if err != nil {
		return err
	}
	values, err := q.Values(false)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(s.Ctx)
	defer cancel()
	out := s.Stdout
	if s.edit != nil {
		out = s.edit.output()
	}
	w := &client.Watcher{
		Client: s.db, Path: path.String(), Query: values, Log: out,
		Show: func(ev client.Event, _ bool) error { return client.WriteEvent(out, ev) },
	}
	if s.edit == nil {
		return w.Run(ctx)
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	err = s.edit.await(ended)
	cancel()
	return err
}

// newLines reads lines of at most so many bytes.
func newLines(r io.Reader, most int) *bufio.Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, most)
	return lines
}

// names returns the commands that begin with a text.
func names(begin string) (list []string) {
	for _, c := range commands() {
		if strings.HasPrefix(c.name, begin) {
			list = append(list, c.name)
		}
	}
	return list
}
