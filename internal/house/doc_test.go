package main

import (
	"go/ast"
	"go/token"
	"testing"
)

// TestDocComments: every package says what it is for, and every exported identifier what it
// means to its user. Methods of the interfaces in the table, and members of a group that has
// a comment, need none.
func TestDocComments(t *testing.T) {
	m, err := parse(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.packages {
		packageDoc := false
		for _, f := range p.files {
			packageDoc = packageDoc || f.tree.Doc != nil
			for _, d := range f.tree.Decls {
				for _, id := range undocumented(d) {
					t.Errorf("%s: %s has no doc comment", p.fset.Position(id.Pos()), id.Name)
				}
			}
		}
		if !packageDoc {
			t.Errorf("package %s has no package comment", p.name)
		}
	}
}

// undocumented returns the exported names of a declaration that lack a comment.
func undocumented(d ast.Decl) (list []*ast.Ident) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && isPublic(d.Recv) && !standard[d.Name.Name] {
			list = append(list, d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if d.Doc == nil || d.Tok == token.TYPE && d.Lparen.IsValid() {
				list = append(list, undocumentedSpec(s)...)
			}
		}
	}
	return list
}

// standard are methods of interfaces that every reader knows.
var standard = map[string]bool{
	"Error": true, "String": true, "Is": true, "Unwrap": true, "Close": true,
	"Read": true, "Write": true, "Len": true, "Less": true, "Swap": true, "ServeHTTP": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "Run": true, "Help": true,
	"Name": true, "Describe": true, "About": true, "WithDefaults": true, "Drive": true, // of bench.Workload
}

// isPublic reports whether a method belongs to a type that others can name.
func isPublic(recv *ast.FieldList) bool {
	return recv == nil || ast.IsExported(receiver(recv.List[0].Type))
}

func undocumentedSpec(s ast.Spec) (list []*ast.Ident) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
			list = append(list, s.Name)
		}
	case *ast.ValueSpec:
		if s.Doc != nil || s.Comment != nil {
			return nil
		}
		for _, name := range s.Names {
			if name.IsExported() {
				list = append(list, name)
			}
		}
	}
	return list
}
