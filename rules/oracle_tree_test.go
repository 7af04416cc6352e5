package rules

import (
	"encoding/json"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// A mapNode is a node of a tree kept in maps. nil is no node.
type mapNode struct {
	leaf     any // bool, float64 or string; nil for an object
	children map[string]*mapNode
	priority any
}

// mapTree makes a mapNode of JSON in export form.
func mapTree(v any) *mapNode {
	object, ok := v.(map[string]any)
	if !ok {
		if v == nil {
			return nil
		}
		return &mapNode{leaf: v}
	}
	n := &mapNode{priority: object[".priority"], children: make(map[string]*mapNode)}
	for key, c := range object {
		switch key {
		case ".priority":
		case ".value":
			n.leaf = c
		default:
			n.children[key] = mapTree(c)
		}
	}
	return n
}

func mapTreeOf(n tree.Node) *mapNode {
	var v any
	if err := json.Unmarshal([]byte(n.JSON()), &v); err != nil {
		panic(err)
	}
	return mapTree(v)
}

func keysOf(p tree.Path) []string {
	return strings.FieldsFunc(p.Clean(), func(r rune) bool { return r == '/' })
}

func (n *mapNode) get(keys []string) *mapNode {
	for _, key := range keys {
		if n == nil {
			return nil
		}
		n = n.children[key]
	}
	return n
}

// with returns a copy of n with v at keys.
func (n *mapNode) with(keys []string, v *mapNode) *mapNode {
	if len(keys) == 0 {
		return v
	}
	c := &mapNode{children: make(map[string]*mapNode)}
	if n != nil {
		c.priority = n.priority
		for key, child := range n.children {
			c.children[key] = child
		}
	}
	if child := c.children[keys[0]].with(keys[1:], v); child != nil {
		c.children[keys[0]] = child
	} else {
		delete(c.children, keys[0])
	}
	switch {
	case len(c.children) > 0:
		return c
	case n != nil && n.leaf != nil:
		return n
	}
	return nil
}

// mapWritten returns the tree after writes: values, then removals, then
// priorities.
func mapWritten(n *mapNode, writes []tree.ResolvedWrite) *mapNode {
	for pass := range 3 {
		for _, w := range writes {
			keys, v := keysOf(w.Path), mapTreeOf(w.Node)
			switch {
			case w.Priority && pass == 2:
				if old := n.get(keys); old != nil {
					c := *old
					c.priority = nil
					if v != nil {
						c.priority = v.leaf
					}
					n = n.with(keys, &c)
				}
			case !w.Priority && pass == 0 && v != nil, !w.Priority && pass == 1 && v == nil:
				n = n.with(keys, v)
			}
		}
	}
	return n
}
