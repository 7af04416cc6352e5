package main

import (
	"fmt"
	"runtime/debug"
)

// version is set by the linker for releases.
var version = "dev"

type versionCommand struct{}

func (versionCommand) Help() string {
	return `Examples:

  dogwood version`
}

func (versionCommand) Run(e *env) error {
	_, err := fmt.Fprintln(e.stdout, versionLine())
	return err
}

func versionLine() string {
	goVersion := "unknown Go"
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
	}
	return fmt.Sprintf("dogwood %s (%s)", version, goVersion)
}
