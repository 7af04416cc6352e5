package main

import (
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// A bound is the most that a package may have of something. Those of default are the aim;
// the others are what a package had when it was last looked at, and only become smaller.
type bound struct {
	types, methods, files, longest int
	back                           float64 // percent of references that run back up
}

var normal = bound{types: 60, methods: 45, files: 40, longest: 500, back: 15}

var exceptions = map[string]bound{
	"internal/langtest": {types: 60, methods: 48, files: 40, longest: 500, back: 15},
	"rules":             {types: 45, methods: 30, files: 20, longest: 490, back: 9},
	"sdk-go":            {types: 60, methods: 55, files: 40, longest: 500, back: 15},
	"server":            {types: 55, methods: 40, files: 40, longest: 500, back: 9},
	"server/realtime":   {types: 30, methods: 45, files: 40, longest: 500, back: 9},
	"sync":              {types: 60, methods: 45, files: 33, longest: 500, back: 6},
	"tree/store":        {types: 60, methods: 45, files: 40, longest: 500, back: 9},
}

func TestHouse(t *testing.T) {
	tier.Need(t, tier.Full) // it checks the types of all packages
	m, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.packages {
		b, ok := exceptions[p.name]
		if !ok {
			b = normal
		}
		n := measure(p)
		check := func(what string, got, most int) {
			if got > most {
				t.Errorf("%s: %d %s, at most %d: give a part of it a package of its own", p.name, got, what, most)
			}
		}
		check("types", n.types, b.types)
		check("methods of "+n.largestType, n.methods, b.methods)
		check("files without tests", n.files, b.files)
		check("lines in "+n.longestFile, n.longestLines, b.longest)
		if n.references >= 100 && n.backShare() > b.back {
			t.Errorf("%s: %.1f %% of the references between its files run back up, at most %.0f", p.name, n.backShare(), b.back)
		}
	}
}

// TestBestOrder finds the only reference that has to run back up.
func TestBestOrder(t *testing.T) {
	const files = 12
	g := make(graph, files)
	for i := range g {
		g[i] = make([]bool, files)
		for j := range i {
			g[i][j] = (i+j)%3 > 0 // the last file is at the top
		}
	}
	g[0][files-1] = true
	if got := g.backward(g.bestOrder()); got != 1 {
		t.Errorf("%d references run back up, want 1", got)
	}
}
