package main

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
)

// numbers describe one package, or several.
type numbers struct {
	files        int // without tests
	lines        int
	comments     int // lines that are nothing but a comment
	types        int // declared at the level of the package, without aliases
	methods      int // of the type that has most
	largestType  string
	functions    lengths
	longestFile  string // tests included
	longestLines int
	references   int // pairs of files of which one uses what the other declares
	backward     int // those against the order in which the fewest are
}

func (n numbers) commentShare() float64 { return 100 * float64(n.comments) / float64(max(n.lines, 1)) }

// backShare returns the percentage of references that run back up.
func (n numbers) backShare() float64 {
	return 100 * float64(n.backward) / float64(max(n.references, 1))
}

// lengths are line counts of functions.
type lengths []int

// at returns the length that percent of the functions do not exceed.
func (l lengths) at(percent int) int {
	if len(l) == 0 {
		return 0
	}
	slices.Sort(l)
	return l[(len(l)-1)*percent/100]
}

func measure(p *pkg) numbers {
	n := numbers{files: len(p.files)}
	methods := make(map[string]int)
	for _, f := range p.files {
		n.count(p, f, methods)
		n.longest(f.path, f.text)
	}
	for name, count := range methods {
		if count > n.methods || count == n.methods && name < n.largestType {
			n.methods, n.largestType = count, name
		}
	}
	g := references(p)
	n.references, n.backward = g.size(), g.backward(g.bestOrder())
	for _, path := range p.tests {
		n.longest(path, read(path))
	}
	return n
}

// count adds the lines and declarations of a file.
func (n *numbers) count(p *pkg, f *file, methods map[string]int) {
	n.lines += strings.Count(f.text, "\n")
	for line := range strings.Lines(f.text) {
		if strings.HasPrefix(strings.TrimSpace(line), "//") {
			n.comments++
		}
	}
	for _, d := range f.tree.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && !t.Assign.IsValid() {
					n.types++
				}
			}
		case *ast.FuncDecl:
			n.functions = append(n.functions, p.fset.Position(d.End()).Line-p.fset.Position(d.Pos()).Line+1)
			if d.Recv != nil {
				methods[receiver(d.Recv.List[0].Type)]++
			}
		}
	}
}

// receiver returns the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func (n *numbers) longest(path, text string) {
	if lines := strings.Count(text, "\n"); lines > n.longestLines {
		n.longestFile, n.longestLines = filepath.Base(path), lines
	}
}

// sum adds up the lines and functions of all packages.
func sum(m *module) numbers {
	var s numbers
	for _, p := range m.packages {
		n := measure(p)
		s.lines += n.lines
		s.comments += n.comments
		s.functions = append(s.functions, n.functions...)
	}
	return s
}

// core adds up the lines of the database itself, without tests, SDKs and commands.
func core(m *module) numbers {
	var s numbers
	for _, p := range m.packages {
		switch top, _, _ := strings.Cut(p.name, "/"); top {
		case "tree", "rules", "sync", "server", "limit":
			n := measure(p)
			s.lines += n.lines
			s.comments += n.comments
		}
	}
	return s
}
