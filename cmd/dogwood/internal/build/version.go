// Package build knows which build of the program runs.
package build

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// Version is set by the linker for releases.
var Version = "dev"

// linked is the revision of the sources, as COMMIT or COMMIT,TIME. The linker sets it for
// releases, which may be built where Go does not see the repository.
var linked = ""

// Command prints the version.
type Command struct{}

func (Command) Help() string {
	return `Prints the version, the revision of the sources, and the build: the version of Go,
and the system and the processor that the program is for. The revision is known to
releases and to programs that "go build" or "go install" made in a checkout; +dirty says
that the checkout had changes that were not committed. "go run" and -buildvcs=false do not
record it.

Examples:

  dogwood version`
}

func (Command) Run(e *console.Env) error {
	_, err := fmt.Fprintln(e.Stdout, Line())
	return err
}

// Line describes the build in one line.
func Line() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return describeBuild(&debug.BuildInfo{GoVersion: "unknown Go"})
	}
	return describeBuild(info)
}

// unknownRevision takes the place of the revision of a program that was built from a
// checkout without it.
const unknownRevision = "built from a checkout, revision unknown: go run and -buildvcs=false do not record it, go build and make do"

// describeBuild returns the version line of a program that was built so. The version of a
// module that Go downloaded says which revision it is.
func describeBuild(info *debug.BuildInfo) string {
	how := fmt.Sprintf("%s %s/%s", info.GoVersion, runtime.GOOS, runtime.GOARCH)
	if r := revisionOf(info.Settings); r.commit != "" {
		return fmt.Sprintf("dogwood %s, revision %s (%s)", Version, r, how)
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return fmt.Sprintf("dogwood %s, module %s (%s)", Version, v, how)
	}
	return fmt.Sprintf("dogwood %s, %s (%s)", Version, unknownRevision, how)
}

// Revision returns the revision of the program for the log.
func Revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if r := revisionOf(info.Settings); r.commit != "" {
			return r.name()
		}
	}
	return "unknown"
}

// Date returns the day of the revision, "" if it is unknown.
func Date() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	day, _, _ := strings.Cut(revisionOf(info.Settings).time, "T")
	return day
}

// A revision is the state of the sources that a program was built from.
type revision struct {
	commit string // "": unknown
	time   string // of the commit
	dirty  bool   // there were uncommitted changes
}

// revisionOf returns the revision that Go recorded in a program, else the one that the
// linker was told. "go run" and tests record none.
func revisionOf(settings []debug.BuildSetting) (r revision) {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			r.commit = s.Value
		case "vcs.time":
			r.time = s.Value
		case "vcs.modified":
			r.dirty = s.Value == "true"
		}
	}
	if r.commit == "" {
		r.commit, r.time, _ = strings.Cut(linked, ",")
	}
	return r
}

// name returns the short form of the commit.
func (r revision) name() string {
	const short = 12 // as many digits as Go's pseudo-versions have
	name := r.commit[:min(short, len(r.commit))]
	if r.dirty {
		name += "+dirty"
	}
	return name
}

func (r revision) String() string {
	if r.time == "" {
		return r.name()
	}
	return r.name() + " of " + r.time
}
