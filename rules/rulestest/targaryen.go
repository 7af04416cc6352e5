package rulestest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules/jsonc"
)

// ConvertTargaryen returns the test file that means the same as one of the
// targaryen command line: an object with root, users and tests, and in tests for
// each path the users who canRead, cannotRead, canWrite and cannotWrite. rules is
// the name of the rules file, which those files do not have.
func ConvertTargaryen(src, rules string) (string, error) {
	doc, err := jsonc.Parse(src)
	if err != nil {
		return "", err
	}
	top, ok := doc.Root.Value.(*hujson.Object)
	if !ok {
		return "", doc.ErrorAt(doc.Root.StartOffset, "the file must be an object with root, users and tests")
	}
	c := targaryen{}
	for i := range top.Members {
		m := &top.Members[i]
		switch name, _ := jsonc.Str(&m.Name); name {
		case "root", "users", "tests":
		default:
			return "", doc.ErrorAt(m.Name.StartOffset, fmt.Sprintf("unknown property %q; use root, users and tests", name))
		}
	}
	fmt.Fprintf(&c.out, "{\n  \"rules\": %s,\n", jsonc.Quote(rules))
	if users := jsonc.Member(top, "users"); users != nil {
		fmt.Fprintf(&c.out, "  \"users\": %s,\n", jsonc.StrictIndent(*users, "  ", "  "))
	}
	if root := jsonc.Member(top, "root"); root != nil {
		fmt.Fprintf(&c.out, "  \"data\": %s,\n", jsonc.StrictIndent(*root, "  ", "  "))
	}
	c.out.WriteString("  \"tests\": [")
	if tests := jsonc.Member(top, "tests"); tests != nil {
		obj, ok := tests.Value.(*hujson.Object)
		if !ok {
			return "", doc.ErrorAt(tests.StartOffset, "tests must be an object with paths as keys")
		}
		for i := range obj.Members {
			if err := c.path(&obj.Members[i]); err != nil {
				return "", doc.ErrorAt(obj.Members[i].Name.StartOffset, err.Error())
			}
		}
	}
	c.out.WriteString("\n  ]\n}\n")
	return c.out.String(), nil
}

// A targaryen writes the tests of the new file.
type targaryen struct {
	out   bytes.Buffer
	tests int // that were written
}

// path converts the tests of one path.
func (c *targaryen) path(m *hujson.ObjectMember) error {
	path, _ := jsonc.Str(&m.Name)
	obj, ok := m.Value.Value.(*hujson.Object)
	if !ok {
		return errors.New("the value of a path must be an object with canRead, cannotRead, canWrite and cannotWrite")
	}
	for i := range obj.Members {
		name, _ := jsonc.Str(&obj.Members[i].Name)
		kind, ok := map[string][2]string{
			"canRead": {"read", "allow"}, "cannotRead": {"read", "deny"},
			"canWrite": {"write", "allow"}, "cannotWrite": {"write", "deny"},
		}[name]
		if !ok {
			return fmt.Errorf("unknown property %q", name)
		}
		list, err := elements(&obj.Members[i].Value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for j := range list {
			if err := c.test(path, kind[0], kind[1], &list[j]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// test converts one entry: the name of a user, or an object with the user, as a
// name or as the variable auth itself, and the data to write. Without data the
// value that is written is null.
func (c *targaryen) test(path, op, verdict string, v *hujson.Value) error {
	auth, value := v, []byte("null")
	if obj, ok := v.Value.(*hujson.Object); ok && jsonc.Member(obj, "auth") != nil {
		auth = jsonc.Member(obj, "auth")
		if data := jsonc.Member(obj, "data"); data != nil {
			value = jsonc.Strict(*data)
		}
	}
	who := `"auth": ` + string(jsonc.Strict(*auth))
	if name, ok := jsonc.Str(auth); ok {
		who = `"as": ` + jsonc.Quote(name)
	}
	if c.tests++; c.tests > 1 {
		c.out.WriteByte(',')
	}
	fmt.Fprintf(&c.out, "\n    { %s, %q: %s, ", who, op, jsonc.Quote("/"+path))
	if op == "write" {
		fmt.Fprintf(&c.out, "\"value\": %s, ", value)
	}
	fmt.Fprintf(&c.out, "\"expect\": %q }", verdict)
	return nil
}
