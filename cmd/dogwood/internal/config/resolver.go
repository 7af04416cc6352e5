package config

import (
	"os"
	"slices"

	"github.com/alecthomas/kong"
)

// Names of the flags of this package.
const (
	Flag      = "config"
	PrintFlag = "print-config"
)

// Flags are those of a command that has a configuration file.
type Flags struct {
	Config      string `help:"File with settings: a JSON object whose keys are the names of flags. The command line and the environment come first." type:"path" placeholder:"FILE"`
	PrintConfig Print  `help:"Print the settings that result, with where each comes from, and end." env:"-"`
}

// A Resolver gives kong the values of the file of --config.
type Resolver struct {
	file *file // nil: not read yet
}

// Validate implements kong.Resolver.
func (r *Resolver) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (r *Resolver) Resolve(k *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if k.Selected() == nil || isAbout(flag) {
		return nil, nil
	}
	name := fileOf(k)
	if name == "" {
		return nil, nil
	}
	if r.file == nil {
		f, err := read(name)
		if err != nil {
			return nil, err
		}
		if err := f.check(k.Selected().Flags); err != nil {
			return nil, err
		}
		r.file = f
	}
	if inEnvironment(flag) {
		return nil, nil
	}
	return r.file.value(flag)
}

// fileOf returns the file that the command line or the environment names, "" if neither does.
func fileOf(k *kong.Context) string {
	i := slices.IndexFunc(k.Selected().Flags, func(f *kong.Flag) bool { return f.Name == Flag })
	if i < 0 {
		return ""
	}
	flag := k.Selected().Flags[i]
	if slices.ContainsFunc(k.Path, func(p *kong.Path) bool { return p.Flag == flag }) {
		name, _ := k.FlagValue(flag).(string)
		return name
	}
	for _, env := range flag.Envs {
		if name := os.Getenv(env); name != "" {
			return kong.ExpandPath(name)
		}
	}
	return ""
}

func inEnvironment(flag *kong.Flag) bool {
	return slices.ContainsFunc(flag.Envs, func(name string) bool {
		_, set := os.LookupEnv(name)
		return set
	})
}
