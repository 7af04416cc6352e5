// Package invariant checks what the rules of an application are to guarantee: an
// index names what is there, copies agree, counters count. It reads any
// tree.Reader, so that it works on a data file as well as in a test.
//
// Its nouns: an Invariant is one statement about the tree, made of patterns. A
// pattern is a path in which
//
//	$x   fits any key and binds it; where $x is bound already, it is that key
//	*    fits any key and binds nothing
//	{f}  stands for the value of the field f of the node that was matched
//	{}   stands for the value of the matched node itself
//
// A Violation is one place where an Invariant does not hold. There are these kinds
// of them:
//
//	inverse       a exists exactly if b does
//	inverseValue  the value of a is the key of b, and that of b the key of a: each has
//	              one variable that the other one has not; lower: a's in lower case
//	ref           from exists only if to does
//	refValue      the value of from names a to that exists; lower: in lower case
//	equal         the values at a and b are equal; ifExists: only where b exists
//	copy          where a node that matches each has the field, its value is that at of
//	excludes      of a and b at most one exists
//	count         the number at counter is how many nodes match over; where: only
//	              nodes whose child is the key that equalsVar is bound to
//	atLeast       the value at counter is not below any that matches each, and of its type
//	max           a node that matches over has at most limit children
//	required      a node that matches each has all the fields
//	fan           for a node that matches each all of to exist
//	varEquals     where from exists, the value at path is the key bound to var; where:
//	              only from nodes whose child equals a constant
//	valueEquals   where from exists, the value at path is the constant value
//	key           the key of a node that matches each is the text is, with its fields
//	              inserted; replace: with one text in them replaced by another;
//	              where: as in varEquals
//
// Priorities are not looked at. A Check has a few keys in memory and one leaf at a
// time, whatever the size of the tree, and up to maxTally counters of a count with
// where. It takes one look at each node that matches, and the other side of it.
package invariant
