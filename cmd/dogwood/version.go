package main

import (
	"fmt"
	"runtime/debug"
)

// version is set by the linker for releases.
var version = "dev"

type versionCommand struct{}

func (versionCommand) Run(e *env) error {
	info, _ := debug.ReadBuildInfo()
	goVersion := "unknown Go"
	if info != nil {
		goVersion = info.GoVersion
	}
	_, err := fmt.Fprintf(e.stdout, "dogwood %s (%s)\n", version, goVersion)
	return err
}
