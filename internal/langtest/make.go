package langtest

import "github.com/dogwooddb/dogwood/rules/lang"

func literal(v any) lang.Expr { return &lang.Literal{Value: v} }

func variable(name string) lang.Expr { return &lang.Variable{Name: name} }

// member makes x.name or x["name"].
func (g *generator) member(x lang.Expr, name string) lang.Expr {
	bracket := g.IntN(8) == 0 || name == "0" || name == "1"
	return &lang.Member{X: x, Name: name, Bracket: bracket}
}

func (g *generator) call(x lang.Expr, method string, args ...lang.Expr) lang.Expr {
	return &lang.Call{Fun: g.member(x, method), Args: args}
}

func (g *generator) cond(branch func() lang.Expr) lang.Expr {
	return &lang.Cond{Test: g.boolean(), Then: branch(), Else: branch()}
}

func (g *generator) binary(operand func() lang.Expr, ops ...lang.Op) lang.Expr {
	return &lang.Binary{Op: pick(g, ops), X: operand(), Y: operand()}
}

func (g *generator) null() lang.Expr          { return literal(nil) }
func (g *generator) truth() lang.Expr         { return literal(g.IntN(2) == 0) }
func (g *generator) numberLiteral() lang.Expr { return literal(pick(g, Numbers)) }
func (g *generator) stringLiteral() lang.Expr { return literal(pick(g, Strings)) }
func (g *generator) now() lang.Expr           { return variable("now") }

func (g *generator) capture() lang.Expr {
	if len(g.scope.Captures) == 0 {
		return g.stringLiteral()
	}
	return variable(pick(g, g.scope.Captures))
}

func (g *generator) snapshotVariable() lang.Expr {
	names := []string{"data", "root"}
	if g.scope.NewData {
		names = append(names, "newData", "newData")
		if g.scope.NewRoot {
			names = append(names, "newRoot")
		}
	}
	return variable(pick(g, names))
}

func (g *generator) logical() lang.Expr  { return g.binary(g.boolean, lang.And, lang.Or) }
func (g *generator) equality() lang.Expr { return g.binary(g.primitive, lang.Eq, lang.Ne) }
func (g *generator) order() lang.Expr {
	return g.binary(g.orderedOperand(), lang.Lt, lang.Le, lang.Gt, lang.Ge)
}
func (g *generator) plus() lang.Expr { return g.binary(g.orderedOperand(), lang.Add) }
func (g *generator) sum() lang.Expr  { return g.binary(g.number, lang.Add) }

// concat makes an addition that is certainly a string.
func (g *generator) concat() lang.Expr {
	x, y := g.oneOf(g.stringLiteral, g.capture), g.ordered()
	if g.IntN(2) == 0 {
		x, y = y, x
	}
	return &lang.Binary{Op: lang.Add, X: x, Y: y}
}

// orderedOperand chooses what both operands are made by: mostly of one type, so
// that few operations fail at run time.
func (g *generator) orderedOperand() func() lang.Expr {
	return pick(g, []func() lang.Expr{g.number, g.number, g.str, g.ordered})
}

func (g *generator) arithmetic() lang.Expr {
	return g.binary(g.number, lang.Sub, lang.Mul, lang.Div, lang.Rem)
}
func (g *generator) not() lang.Expr      { return &lang.Unary{Op: lang.Not, X: g.boolean()} }
func (g *generator) negative() lang.Expr { return &lang.Unary{Op: lang.Neg, X: g.number()} }

func (g *generator) value() lang.Expr    { return g.call(g.snapshot(), "val") }
func (g *generator) priority() lang.Expr { return g.call(g.snapshot(), "getPriority") }
func (g *generator) exists() lang.Expr {
	return g.call(g.snapshot(), pick(g, []string{"exists", "isNumber", "isString", "isBoolean"}))
}
func (g *generator) child() lang.Expr    { return g.call(g.snapshot(), "child", g.path()) }
func (g *generator) hasChild() lang.Expr { return g.call(g.snapshot(), "hasChild", g.path()) }

func (g *generator) hasChildren() lang.Expr {
	if g.IntN(3) == 0 {
		return g.call(g.snapshot(), "hasChildren")
	}
	list := new(lang.Array)
	for range g.IntN(4) {
		list.Items = append(list.Items, g.path())
	}
	return g.call(g.snapshot(), "hasChildren", list)
}

// path makes what names a child: mostly a key or a path of keys.
func (g *generator) path() lang.Expr {
	key := func() lang.Expr { return literal(pick(g, Keys)) }
	switch g.IntN(12) {
	case 0:
		return literal(pick(g, badPaths))
	case 1, 2:
		return g.capture()
	case 3:
		return literal(pick(g, Keys) + "/" + pick(g, Keys))
	case 4:
		slash := &lang.Binary{Op: lang.Add, X: key(), Y: literal("/")}
		return &lang.Binary{Op: lang.Add, X: slash, Y: g.capture()}
	case 5:
		return g.str()
	case 6:
		return g.member(variable("auth"), "uid")
	}
	return key()
}

// claim makes auth or what is somewhere in it.
func (g *generator) claim() lang.Expr {
	x := variable("auth")
	for g.IntN(4) > 0 {
		switch g.IntN(6) {
		case 0:
			x = &lang.Index{X: x, Key: g.claimKey()}
		case 1:
			x = g.member(x, pick(g, []string{"token", "length", "contains"}))
		default:
			x = g.member(x, pick(g, Keys))
		}
	}
	return x
}

// claimKey makes a key that isn't a string literal.
func (g *generator) claimKey() lang.Expr {
	if g.IntN(3) == 0 {
		return literal(float64(g.IntN(3)))
	}
	return &lang.Binary{Op: lang.Add, X: literal(""), Y: g.path()}
}

func (g *generator) length() lang.Expr { return g.member(g.str(), "length") }

func (g *generator) stringTest() lang.Expr {
	methods := []string{"contains", "beginsWith", "endsWith"}
	if g.scope.Dialect == lang.Wilddog {
		methods = append(methods, "startsWith")
	}
	return g.call(g.str(), pick(g, methods), g.str())
}

func (g *generator) matches() lang.Expr {
	re := &lang.Regex{Pattern: pick(g, Patterns), IgnoreCase: g.IntN(3) == 0}
	return g.call(g.str(), "matches", re)
}

func (g *generator) replace() lang.Expr { return g.call(g.str(), "replace", g.str(), g.str()) }

func (g *generator) otherCase() lang.Expr {
	return g.call(g.str(), pick(g, []string{"toLowerCase", "toUpperCase"}))
}

func (g *generator) queryFlag() lang.Expr {
	return g.member(variable("query"), pick(g, []string{"orderByKey", "orderByValue", "orderByPriority"}))
}

func (g *generator) limit() lang.Expr {
	return g.member(variable("query"), pick(g, []string{"limitToFirst", "limitToLast"}))
}

func (g *generator) queryValue() lang.Expr {
	if g.IntN(3) == 0 {
		return g.limit()
	}
	return g.bound()
}

// bound makes a bound of the query, which has the members of a string.
func (g *generator) bound() lang.Expr {
	return g.member(variable("query"), pick(g, []string{"startAt", "endAt", "equalTo"}))
}

// ordering compares the ordering with what it may be compared with.
func (g *generator) ordering() lang.Expr {
	return g.binary(func() lang.Expr {
		return g.oneOf(g.null, g.stringLiteral, func() lang.Expr { return g.member(variable("query"), "orderByChild") })
	}, lang.Eq, lang.Ne)
}
