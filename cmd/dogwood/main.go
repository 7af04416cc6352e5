// Command dogwood is the server, its command-line client and its tools in one
// binary. Run it without arguments for the list of commands.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/benchcmd"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/build"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/bulk"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/config"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/credentials"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datacmd"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/docsite"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/manual"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/pull"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/remote"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/rulecmd"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/servers"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/shell"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/starter"
)

// commands is the command line. Each command has a file of its own.
type commands struct {
	Dev   servers.Dev   `cmd:"" group:"Servers" help:"Run a local server for development: open rules, data in memory."`
	Serve servers.Serve `cmd:"" group:"Servers" help:"Run a server on data that is kept on disk."`

	Init starter.Init `cmd:"" group:"Servers" help:"Write the files of a new project: rules, tests of the rules, firebase.json and data."`

	Get    remote.Get    `cmd:"" group:"Data" help:"Print the value at a path, or the children that a query selects."`
	Set    remote.Set    `cmd:"" group:"Data" help:"Replace the value at a path."`
	Update remote.Update `cmd:"" group:"Data" help:"Write several paths below a path at once and leave the others as they are."`
	Push   remote.Push   `cmd:"" group:"Data" help:"Add a child under a new, ascending key and print the key."`
	Remove remote.Remove `cmd:"" group:"Data" help:"Delete the value at a path."`
	Shell  shell.Command `cmd:"" group:"Data" help:"Read and write a database line by line."`
	Watch  remote.Watch  `cmd:"" group:"Data" help:"Follow the value at a path and print each change."`

	Import  bulk.Import  `cmd:"" group:"Bulk data" help:"Replace everything at a path with a file of any size."`
	Export  bulk.Export  `cmd:"" group:"Bulk data" help:"Write everything at a path to a file."`
	Pull    pull.Command `cmd:"" group:"Bulk data" help:"Copy a database of Firebase, or of another server like it."`
	Backup  bulk.Backup  `cmd:"" group:"Bulk data" help:"Copy a database while a server runs on it."`
	Restore bulk.Restore `cmd:"" group:"Bulk data" help:"Put a backup into a data directory."`
	Log     bulk.Log     `cmd:"" group:"Bulk data" help:"Print what was committed, revision by revision."`
	Compact bulk.Compact `cmd:"" group:"Bulk data" help:"Free the disk space of deleted data."`

	Databases remote.Databases `cmd:"" group:"Bulk data" help:"Create, list and drop databases of a server that runs."`

	Login    credentials.Login    `cmd:"" group:"Credentials" help:"Keep the address and the secret of a server for other commands."`
	Logout   credentials.Logout   `cmd:"" group:"Credentials" help:"Remove a profile that login made."`
	Profiles credentials.Profiles `cmd:"" group:"Credentials" help:"List the profiles that login made."`

	ServiceAccount credentials.ServiceAccount `cmd:"" name:"serviceaccount" group:"Credentials" help:"Create, list and revoke service accounts, with which Admin SDKs sign in."`
	Token          credentials.Token          `cmd:"" group:"Credentials" help:"Create and revoke tokens of users."`

	Rules   rulecmd.Command  `cmd:"" group:"Tools" help:"Check, test and explain security rules."`
	Data    datacmd.Command  `cmd:"" group:"Tools" help:"Check and deploy documents that declare data."`
	Check   bulk.Check       `cmd:"" group:"Tools" help:"Verify data files."`
	Top     remote.Top       `cmd:"" group:"Tools" help:"Show what a server does, second by second."`
	Bench   benchcmd.Command `cmd:"" group:"Tools" help:"Load a server and measure it."`
	Explain remote.Explain   `cmd:"" group:"Tools" help:"Show what a read costs, or what a write would."`
	Docs    docsite.Command  `cmd:"" group:"Tools" help:"Show the documentation in a browser."`
	Version build.Command    `cmd:"" group:"Tools" help:"Print the version."`

	Health     remote.Health     `cmd:"" group:"Tools" help:"Ask whether a server works."`
	Completion manual.Completion `cmd:"" group:"Tools" help:"Print the script that completes command lines in a shell."`
	Man        manual.Man        `cmd:"" group:"Tools" help:"Write the man pages." hidden:""`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version." env:"-"`
}

func main() {
	dropEmptyVariables()
	os.Exit(run(&console.Env{Ctx: untilSignal(context.Background()), Stdin: os.Stdin, Stdout: console.ScreenOf(os.Stdout), Stderr: console.ScreenOf(os.Stderr)}, os.Args[1:]))
}

// dropEmptyVariables makes an empty variable the same as none, which is what
// compose files and scripts mean by it.
func dropEmptyVariables() {
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); value == "" && strings.HasPrefix(name, console.EnvPrefix+"_") {
			_ = os.Unsetenv(name) // it is there, so its name is valid
		}
	}
}

// run executes one command line and returns the exit code: 0, 1 for a failure,
// 2 for a wrong command line.
func run(e *console.Env, args []string) int {
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	}
	exit := -1
	parser, err := parserOf(e, grammarOf(args), &exit)
	if err != nil {
		fmt.Fprintln(e.Stderr, "dogwood:", err)
		return 2
	}
	if flag, value := flagAsValue(parser.Model.Node, args); flag != "" {
		fmt.Fprintf(e.Stderr, "dogwood: %s needs a value, and %s is a flag; see dogwood %s --help (a value that looks like a flag is written %s=%s)\n", flag, value, args[0], flag, value)
		return 2
	}
	k, err := parser.Parse(args)
	if exit >= 0 { // help or the version was printed
		return exit
	}
	if wrong := (*emulatorError)(nil); errors.As(err, &wrong) {
		fmt.Fprintf(e.Stderr, "dogwood: %v\n", wrong)
		return 2
	}
	if wrong := (*config.Error)(nil); errors.As(err, &wrong) {
		fmt.Fprintf(e.Stderr, "dogwood: %v\n", wrong)
		return 2
	}
	if err != nil {
		fmt.Fprintf(e.Stderr, "dogwood: %s; see %s --help\n", plainly(err), commandOf(err))
		return 2
	}
	if flag := withoutValue(k, args); flag != "" {
		fmt.Fprintf(e.Stderr, "dogwood: %s needs a value; see dogwood %s --help\n", flag, k.Selected().Path())
		return 2
	}
	if name := k.Selected().Name; name == "serve" || name == "dev" {
		e.Warnings = config.UnknownVariables(console.EnvPrefix+"_", func() (*kong.Application, error) { return modelOf(e) })
	}
	if err := k.Run(e); err != nil {
		return e.Fail(err)
	}
	return 0
}

// parserOf returns the parser of a grammar. It sets exit when it has printed help or the
// version.
func parserOf(e *console.Env, grammar any, exit *int) (*kong.Kong, error) {
	return kong.New(grammar,
		kong.Name("dogwood"),
		kong.Description("A realtime JSON tree database that speaks the Firebase protocol."),
		kong.Writers(e.Stdout, e.Stderr),
		kong.Exit(func(code int) { *exit = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.DefaultEnvars(console.EnvPrefix),
		kong.Resolvers(kong.ResolverFunc(resolveEmulator), new(config.Resolver)),
		kong.WithHyphenPrefixedParameters(true), // --start-at -5
		kong.Vars{"version": build.Line()},
		kong.Bind(e, &manual.Source{Model: func() (*kong.Application, error) { return modelOf(e) }}),
	)
}

// modelOf returns the model of all commands.
func modelOf(e *console.Env) (*kong.Application, error) {
	parser, err := parserOf(e, &commands{}, new(int))
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

// grammarOf returns a pointer to commands, or to a struct with only the command that comes
// first in args. Kong reads the flags of all commands that it is given by reflection, which
// took a third of the time of a short command.
func grammarOf(args []string) any {
	all := reflect.TypeFor[commands]()
	version, _ := all.FieldByName("ShowVersion")
	for i := range all.NumField() {
		f := all.Field(i)
		if cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name)) == args[0] && f.Name != version.Name {
			return reflect.New(reflect.StructOf([]reflect.StructField{f, version})).Interface()
		}
	}
	return &commands{}
}

// plainly returns the text of an error of the command line in plain words, without the
// suggestion -h for each short flag that there is not.
func plainly(err error) string {
	return strings.NewReplacer(`, did you mean "-h"?`, "", "a valid 64 bit int", "a whole number").Replace(err.Error())
}

// commandOf returns the command that a wrong command line is for, as far as it
// was understood.
func commandOf(err error) string {
	if e := (*kong.ParseError)(nil); errors.As(err, &e) && e.Context.Selected() != nil {
		return "dogwood " + e.Context.Selected().Path()
	}
	return "dogwood"
}
