package lang

import (
	"maps"
	"slices"
)

// member finds the type of x.name, which is not called.
func (c *checker) member(x *Member) Type {
	t := c.receiver(x.X)
	if isClaim(t) {
		return Any
	}
	m := c.lookup(x, t)
	if m.args != notCalled {
		return Method
	}
	return m.result
}

// isClaim reports whether what has type t may be a claim, and so have any member.
func isClaim(t Type) bool { return t&Claims != 0 && t&^Any == 0 }

// receiver finds the type of x as the receiver of a member.
func (c *checker) receiver(x Expr) Type {
	c.expr(x)
	return receiverType(x)
}

// receiverType returns the type of x as the receiver of a member: an ordering has no
// members, though it may be a string. The bounds of a query have those of a string (rules
// §5.3). These exceptions are those of the hosted service, as recorded; they are not
// derived from a rule.
func receiverType(x Expr) Type {
	switch x := x.(type) {
	case *Member:
		if isOrdering(x) {
			return x.typ &^ String
		}
	case *Cond:
		return receiverType(x.Then) | receiverType(x.Else)
	}
	return x.Type()
}

// isOrdering reports whether x is query.orderByChild.
func isOrdering(x Expr) bool {
	m, ok := x.(*Member)
	return ok && m.Name == "orderByChild" && m.X.Type() == Query
}

// mayBeOrdering reports whether x is an ordering or a ternary that may come to one.
func mayBeOrdering(x Expr) bool {
	if c, ok := x.(*Cond); ok {
		return mayBeOrdering(c.Then) || mayBeOrdering(c.Else)
	}
	return isOrdering(x)
}

// comparesOrdering reports whether an ordering may be compared with x: a string
// literal, null, or another ordering.
func comparesOrdering(x Expr) bool {
	if lit, ok := x.(*Literal); ok {
		return literalType(lit.Value)&(Null|String) != 0
	}
	return isOrdering(x)
}

// lookup finds the member x of a receiver of type t that is no claim, and gives
// it its canonical name.
func (c *checker) lookup(x *Member, t Type) member {
	members, more := membersOf(t), c.extensionsOf(t)
	if members == nil && more == nil {
		panic(at(x.X, msgNoObject))
	}
	name := c.canonical(x.Name)
	m, ok := members[name]
	for i := 0; !ok && i < len(more); i++ {
		m, ok = more[i][name]
	}
	if !ok {
		panic(errorf(x.at, msgNoMember, x.Name).meant(x.Name, slices.Collect(maps.Keys(members))))
	}
	x.Name = name
	return m
}

// extensionsOf returns the members that extensions give a receiver of type t.
func (c *checker) extensionsOf(t Type) (more []map[string]member) {
	x, value := c.scope.Extensions, t&^Any == 0
	if x.Text && value && t&String != 0 {
		more = append(more, textMembers)
	}
	if x.Dates && value && t&String != 0 {
		more = append(more, dateTextMembers)
	}
	if x.Dates && value && t&Number != 0 {
		more = append(more, dateMembers)
	}
	if x.Counts && t == Snapshot {
		more = append(more, countMembers)
	}
	return more
}

// canonical returns Firebase's name of a member.
func (c *checker) canonical(name string) string {
	if c.scope.Dialect == Wilddog && name == "startsWith" {
		return "beginsWith"
	}
	return name
}

// index finds the type of x[key]. Only a claim can have a key that isn't known.
func (c *checker) index(x *Index) Type {
	t, key := c.expr(x.X), c.expr(x.Key)
	if !isClaim(t) || key&ordered == 0 {
		panic(at(x.Key, msgComputed))
	}
	return Any
}

// call finds the type of a method call. A claim can only have a string's methods.
func (c *checker) call(x *Call) Type {
	fun, ok := x.Fun.(*Member)
	if !ok {
		c.expr(x.Fun)
		panic(at(x.Fun, msgNoFunction))
	}
	written := fun.Name
	var m member
	if t := c.receiver(fun.X); !isClaim(t) {
		m = c.lookup(fun, t)
	} else if m, ok = stringMembers[c.canonical(fun.Name)]; ok {
		fun.Name = c.canonical(fun.Name)
	}
	if m.args == notCalled {
		err := errorf(fun.at, msgNoFunction)
		if m.result == 0 { // of a claim
			err = err.meant(written, slices.Collect(maps.Keys(stringMembers)))
		}
		panic(err)
	}
	fun.typ = Method
	c.arguments(x, fun.at, written, m.args)
	return m.result
}

// argumentCounts says how many arguments each kind of method has, and what a
// wrong number is answered with.
var argumentCounts = [...]struct {
	min, max int
	msg      string
}{
	noArgs:      {0, 0, msgNoArgs},
	oneString:   {1, 1, msgOneArg},
	twoStrings:  {2, 2, msgTwoArgs},
	regexOnly:   {1, 1, msgOneRegex},
	listOrEmpty: {0, 1, msgOneList},

	listOnly:     {1, 1, msgOneList},
	stringNumber: {2, 2, msgTwoArgs},
	twoNumbers:   {2, 2, msgTwoArgs},
}

// arguments checks the arguments of the call of a method whose name is at offset.
func (c *checker) arguments(x *Call, offset int, name string, want arguments) {
	if n := argumentCounts[want]; len(x.Args) < n.min || len(x.Args) > n.max {
		panic(errorf(offset, n.msg, name))
	}
	if (want == listOrEmpty || want == listOnly) && len(x.Args) == 1 {
		c.listArg(x.Args[0], name)
		return
	}
	for _, arg := range x.Args {
		c.expr(arg)
	}
	for i, arg := range x.Args {
		_, isRegex := arg.(*Regex)
		isString := arg.Type()&String != 0
		switch {
		case want == oneString && !isString:
			panic(at(arg, msgStringArg, name))
		case want == twoStrings && !isString:
			panic(at(arg, msgStringArgN, i+1, name))
		case want == regexOnly && !isRegex:
			panic(at(arg, msgRegexArg, name))
		case want == stringNumber && i == 0 && !isString:
			panic(at(arg, msgStringArgN, 1, name))
		case (want == twoNumbers || want == stringNumber && i == 1) && arg.Type()&Number == 0:
			panic(at(arg, msgNumberArgN, i+1, name))
		}
	}
}

// listArg checks a list of strings.
func (c *checker) listArg(arg Expr, method string) {
	list, ok := arg.(*Array)
	if !ok {
		c.expr(arg)
		panic(at(arg, msgListArg, method))
	}
	for _, x := range list.Items {
		c.expr(x)
	}
	for _, x := range list.Items {
		if x.Type()&String == 0 {
			panic(at(x, msgListOfString, method))
		}
	}
	list.typ = List
}
