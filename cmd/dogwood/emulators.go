package main

import (
	"os"

	"github.com/alecthomas/kong"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
)

// resolveEmulator gives flags the values that the firebase.json has for the emulator:
// --host and --port of dev, --url of the commands that talk to a server, if no profile is
// named. The command line and the environment come first.
func resolveEmulator(k *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	dev := k.Selected() != nil && k.Selected().Name == "dev"
	if !(dev && (flag.Name == "host" || flag.Name == "port")) && (dev || flag.Name != "url") {
		return nil, nil
	}
	if flag.Name == "url" && (client.OnCommandLine(k)["profile"] || os.Getenv(console.EnvPrefix+"_PROFILE") != "") {
		return nil, nil // the profile has an address
	}
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	config, err := project.DatabaseEmulator()
	if err != nil {
		return nil, &emulatorError{err}
	}
	switch {
	case flag.Name == "url" && config != project.Emulator{}:
		return config.URL(), nil
	case flag.Name == "host" && config.Host != "":
		return config.Host, nil
	case flag.Name == "port" && config.Port != 0:
		return config.Port, nil
	}
	return nil, nil
}

// An emulatorError says what is wrong in the firebase.json of the working directory, which is
// no mistake of the flag that it was read for.
type emulatorError struct{ error }

func (e *emulatorError) Unwrap() error { return e.error }
