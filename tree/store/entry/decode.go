package entry

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/tree"
)

// parsers read operations, by the name of their first member.
var parsers = map[string]func(m members) (Operation, error){
	"w":     func(m members) (Operation, error) { return m.write() },
	"id":    func(m members) (Operation, error) { return m.seen() },
	"od":    func(m members) (Operation, error) { return m.left() },
	"rules": func(m members) (Operation, error) { return m.rules() },
	"data":  func(m members) (Operation, error) { return m.data() },
	"states": func(m members) (Operation, error) {
		return &States{[]byte(m["states"].Raw)}, nil
	},
	KeptDue:     func(m members) (Operation, error) { return m.kept(KeptDue) },
	KeptSources: func(m members) (Operation, error) { return m.kept(KeptSources) },
	KeptMark:    func(m members) (Operation, error) { return m.kept(KeptMark) },
	KeptUnmark:  func(m members) (Operation, error) { return m.kept(KeptUnmark) },
	KeptForget:  func(m members) (Operation, error) { return m.kept(KeptForget) },
	"set":       func(m members) (Operation, error) { return m.setting() },
	"load":      func(m members) (Operation, error) { return m.load() },
	"link":      func(m members) (Operation, error) { return m.link() },
	"drop":      func(m members) (Operation, error) { return &Drop{m["drop"].Str}, nil },
	"part": func(m members) (Operation, error) {
		return &Part{m["part"].Str, int(m["seq"].Int()), m["text"].Str}, nil
	},
	"join": func(m members) (Operation, error) { return &Join{m["join"].Str, int(m["n"].Int())}, nil },
}

// parse reads an operation. Text that append would not have made is refused, so nothing is
// ever read in part. That makes the encoder the definition of the format. A later version
// that adds a member is noticed by an older reader, which then stops instead of losing
// what the member says.
func parse(line string) (Operation, error) {
	if !gjson.Valid(line) || !strings.HasPrefix(line, `{"`) {
		return nil, fmt.Errorf("%w: an operation is not JSON", ErrDamaged)
	}
	m, first := make(members), ""
	gjson.Parse(line).ForEach(func(k, v gjson.Result) bool {
		if first == "" {
			first = k.Str
		}
		m[k.Str] = v
		return true
	})
	f := parsers[first]
	if f == nil {
		return nil, fmt.Errorf("%w: it has an operation %q", ErrVersion, first)
	}
	op, err := f(m)
	if err != nil {
		return nil, fmt.Errorf("%w: operation %q: %w", ErrDamaged, first, err)
	}
	if string(op.append(make([]byte, 0, len(line)))) != line {
		return nil, fmt.Errorf("%w: operation %q has members that are unknown, or in another order", ErrVersion, first)
	}
	return op, nil
}

// members are those of an operation, by name.
type members map[string]gjson.Result

func (m members) write() (_ *Write, err error) {
	w := &Write{By: m.by()}
	if w.Writes, err = writes(m["w"]); err != nil {
		return nil, err
	}
	if m["id"].Exists() {
		if w.ID, err = parseID(m["id"].Str); err != nil {
			return nil, err
		}
	}
	if m["merge"].Exists() {
		p, err := tree.ParsePath(m["merge"].Str)
		if err != nil {
			return nil, err
		}
		w.Merge = &p
	}
	return w, nil
}

func (m members) by() By {
	return By{UID: m["uid"].Str, Admin: m["admin"].Bool(), Door: m["door"].Str, Cause: m["cause"].Str}
}

// Values are validated as those of a client are, since entries may come from another
// machine.
func writes(object gjson.Result) (list []tree.ResolvedWrite, err error) {
	object.ForEach(func(k, v gjson.Result) bool {
		var t tree.Target
		var d tree.Draft
		if t, err = tree.ParseTarget(k.Str); err != nil {
			return false
		}
		depth := t.Path.Len()
		if d, err = tree.Parse(v.Raw, depth, tree.Strict); err != nil {
			return false
		}
		n, ok := d.Node()
		if !ok {
			err = fmt.Errorf("%s has a server value", t)
			return false
		}
		list = append(list, tree.ResolvedWrite{Target: t, Node: n})
		return true
	})
	return list, err
}

func (m members) seen() (*Seen, error) {
	id, err := parseID(m["id"].Str)
	if err != nil {
		return nil, err
	}
	return &Seen{*id}, nil
}

func parseID(text string) (*ID, error) {
	writer, number, _ := strings.Cut(text, ":")
	id := new(ID)
	if n, err := hex.Decode(id.Writer[:], []byte(writer[:min(len(writer), 2*len(id.Writer))])); err != nil || n != len(id.Writer) {
		return nil, fmt.Errorf("%q is no id of a write", text)
	}
	var err error
	id.Number, err = strconv.ParseUint(number, 10, 64)
	return id, err
}

func (m members) left() (*Left, error) {
	l := &Left{Session: m["od"].Str}
	for _, r := range m["put"].Array() {
		pair := r.Array()
		if len(pair) != 2 {
			return nil, fmt.Errorf("%q is no record", r.Raw)
		}
		l.Put = append(l.Put, Record{pair[0].Uint(), []byte(pair[1].Raw)})
	}
	for _, n := range m["del"].Array() {
		l.Delete = append(l.Delete, n.Uint())
	}
	return l, nil
}

func (m members) rules() (*Rules, error) {
	return &Rules{Version: []byte(m["rules"].Raw), Source: m["source"].Str}, nil
}

func (m members) data() (*Data, error) {
	return &Data{Version: []byte(m["data"].Raw), Source: m["source"].Str}, nil
}

func (m members) kept(kind string) (*Kept, error) {
	of, err := tree.ParsePath(m["of"].Str)
	at, failed := tree.ParsePath(m["at"].Str)
	return &Kept{kind, uint32(m["def"].Uint()), of, m[kind].Int(), at}, errors.Join(err, failed)
}

func (m members) setting() (*Setting, error) {
	s := new(Setting)
	m["set"].ForEach(func(k, v gjson.Result) bool {
		s.Name, s.Value = k.Str, v.Str
		return true
	})
	return s, nil
}

func (m members) load() (*Load, error) {
	at, err := tree.ParsePath(m["at"].Str)
	return &Load{ID: m["load"].Str, At: at, Now: m["now"].Int(), Seq: int(m["seq"].Int()), Text: m["json"].Str}, err
}

func (m members) link() (*Link, error) {
	list, err := writes(m["w"])
	return &Link{ID: m["link"].Str, By: m.by(), Writes: list}, err
}
