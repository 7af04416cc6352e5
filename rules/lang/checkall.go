package lang

import (
	"slices"
	"sort"
)

// CheckAll is Check that returns all mistakes that do not follow from others, at most as
// many as given: the one that Check finds, and then the others in the order of the text.
func CheckAll(x Expr, s Scope, most int) []*Error {
	first := Check(x, s)
	if first == nil {
		return nil
	}
	c := &collector{checker: checker{scope: s, checked: make(map[Expr]bool)}}
	c.collect(x)
	sort.SliceStable(c.found, func(i, j int) bool { return c.found[i].Offset < c.found[j].Offset })
	list := []*Error{first}
	for _, err := range c.found {
		if same := err.Offset == first.Offset && err.Msg == first.Msg; !same && len(list) < most {
			list = append(list, err)
		}
	}
	suggest(x, list)
	return list
}

// A collector checks each part of a tree on its own, so that one mistake does not hide
// those in other parts.
//
// The messages are those of Check, found by checking every part alone and passing over
// parents of parts that failed. To make the checker itself go on after a mistake was left
// out: it would need a type for what has none, and mistakes that follow from others would
// be told.
type collector struct {
	checker
	found []*Error
}

// collect checks x if its parts are right, and reports whether it is right.
func (c *collector) collect(x Expr) bool {
	right := true
	for _, part := range parts(x) {
		right = c.collect(part) && right
	}
	if right {
		right = c.try(func() { c.expr(x) })
	} else if b, ok := x.(*Binary); ok {
		c.operands(b)
	}
	c.checked[x] = right
	return right
}

// operands checks the operand of x that is right in itself, beside one that is not.
func (c *collector) operands(x *Binary) {
	c.try(func() {
		if c.checked[x.X] && !operand(x.Op, x.X.Type()) {
			panic(operandError(x.Op, x.X, "left"))
		}
		if c.checked[x.Y] && !operand(x.Op, x.Y.Type()) {
			panic(operandError(x.Op, x.Y, "right"))
		}
	})
}

// try notes the mistake that f panics with, and reports whether there was none.
func (c *collector) try(f func()) bool {
	err := recovered(f)
	if err != nil {
		c.found = append(c.found, err)
	}
	return err == nil
}

// parts returns the parts of x that have a type of their own: a method has none, and a list
// has one as an argument only.
func parts(x Expr) []Expr {
	if c, ok := x.(*Call); ok {
		return slices.Concat(parts(c.Fun), argumentParts(c.Args))
	}
	return operands(x)
}

func argumentParts(args []Expr) (list []Expr) {
	for _, arg := range args {
		if items, ok := arg.(*Array); ok {
			list = append(list, items.Items...)
			continue
		}
		list = append(list, arg)
	}
	return list
}
