// House prints the structure of this module's Go code in numbers: lines, comments, types
// per package, methods per type, and how many references between the files of a package
// run back up. TestHouse holds the numbers below the bounds in bounds.go.
//
//	go run ./internal/house            # all packages
//	go run ./internal/house server     # the order of the files of one, and what runs back up
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
)

func main() {
	m, err := load(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	if len(os.Args) > 1 {
		printOrder(os.Stdout, m, os.Args[1])
		return
	}
	print(os.Stdout, m)
}

// printOrder writes the files of a package from the top to the bottom, in the best order,
// each with those above it that it uses.
func printOrder(w io.Writer, m *module, name string) {
	for _, p := range m.packages {
		if p.name != name {
			continue
		}
		g := references(p)
		order := g.bestOrder()
		for i, f := range order {
			fmt.Fprintf(w, "%s", filepath.Base(p.files[f].path))
			for _, above := range order[:i] {
				if g[f][above] {
					fmt.Fprintf(w, " ↑%s", filepath.Base(p.files[above].path))
				}
			}
			fmt.Fprintln(w)
		}
	}
}

// print writes one row for each package, and the sums.
func print(w io.Writer, m *module) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "files\tlines\tcomments\ttypes\tmethods\tfunction lines\tlongest file\tback up\tpackage\t")
	for _, p := range m.packages {
		n := measure(p)
		fmt.Fprintf(t, "%d\t%d\t%.0f %%\t%d\t%d %s\t%d %d %d\t%d %s\t%d of %d\t%s\t\n",
			n.files, n.lines, n.commentShare(), n.types, n.methods, n.largestType,
			n.functions.at(50), n.functions.at(90), n.functions.at(100),
			n.longestLines, n.longestFile, n.backward, n.references, p.name)
	}
	t.Flush()
	s := sum(m)
	fmt.Fprintf(w, "\nall: %d lines, %.1f %% comments, functions %d %d %d (half, nine in ten, longest)\n",
		s.lines, s.commentShare(), s.functions.at(50), s.functions.at(90), s.functions.at(100))
	c := core(m)
	fmt.Fprintf(w, "core (tree, rules, sync, server, limit): %d lines, %.1f %% comments\n", c.lines, c.commentShare())
}
