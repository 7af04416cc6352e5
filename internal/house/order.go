package main

import (
	"go/types"
	"os"
	"slices"
)

// A graph says which file of a package uses what another one declares. Files are numbers.
type graph [][]bool

// references returns the graph of the files of a package.
func references(p *pkg) graph {
	number := make(map[string]int)
	g := make(graph, len(p.files))
	for i, f := range p.files {
		number[f.path] = i
		g[i] = make([]bool, len(p.files))
	}
	for id, obj := range p.info.Uses {
		if !isDeclared(obj) {
			continue
		}
		from, ok1 := number[p.fset.Position(id.Pos()).Filename]
		to, ok2 := number[p.fset.Position(obj.Pos()).Filename]
		if ok1 && ok2 && from != to {
			g[from][to] = true
		}
	}
	return g
}

// isDeclared reports whether an identifier stands for a declaration of a package or a
// method, not for a field or something local.
func isDeclared(obj types.Object) bool {
	if obj.Pkg() == nil || !obj.Pos().IsValid() {
		return false
	}
	if f, ok := obj.(*types.Func); ok {
		return f.Signature().Recv() != nil || obj.Parent() == obj.Pkg().Scope()
	}
	return obj.Parent() == obj.Pkg().Scope()
}

func (g graph) size() int {
	n := 0
	for _, row := range g {
		for _, uses := range row {
			if uses {
				n++
			}
		}
	}
	return n
}

// backward counts the references to a file that comes earlier in an order from the top to
// the bottom.
func (g graph) backward(order []int) int {
	n := 0
	for i, above := range order {
		for _, below := range order[i+1:] {
			if g[below][above] {
				n++
			}
		}
	}
	return n
}

// bestOrder looks for an order of the files with few references that run back up. Each
// file is moved to where it does best until that changes nothing; this starts from several
// orders, since it finds only a local optimum.
func (g graph) bestOrder() []int {
	var best []int
	for start := range 8 {
		order := g.sifted(g.start(start))
		if best == nil || g.backward(order) < g.backward(best) {
			best = order
		}
	}
	return best
}

// start returns the files by how much more they use than they are used, turned round in
// several ways.
func (g graph) start(turn int) []int {
	order := make([]int, len(g))
	surplus := make([]int, len(g))
	for i, row := range g {
		order[i] = i
		for j, uses := range row {
			if uses {
				surplus[i]++
				surplus[j]--
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return surplus[b] - surplus[a] })
	if turn%2 == 1 {
		slices.Sort(order)
	}
	cut := len(order) * turn / 8
	return append(slices.Clone(order[cut:]), order[:cut]...)
}

// sifted moves one file after the other to its best place.
func (g graph) sifted(order []int) []int {
	for moved := true; moved; {
		moved = false
		for f := range g {
			moved = g.sift(order, slices.Index(order, f)) || moved
		}
	}
	return order
}

// sift moves the file at one place of an order to the one where the fewest references run
// back up, and reports whether that is better.
func (g graph) sift(order []int, from int) bool {
	f, best, to, cost := order[from], 0, from, 0
	for i := from - 1; i >= 0; i-- { // f comes before order[i]
		if cost += g.change(order[i], f); cost < best {
			best, to = cost, i
		}
	}
	cost = 0
	for i := from + 1; i < len(order); i++ { // f comes after order[i]
		if cost += g.change(f, order[i]); cost < best {
			best, to = cost, i
		}
	}
	if to == from {
		return false
	}
	copy(order, slices.Insert(slices.Delete(slices.Clone(order), from, from+1), to, f))
	return true
}

// change returns how many more references run back up if b moves from below a to above it.
func (g graph) change(a, b int) int {
	n := 0
	if g[a][b] {
		n++
	}
	if g[b][a] {
		n--
	}
	return n
}

// read returns the text of a file, or nothing.
func read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}
