package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/tree"
)

// maxBatchBytes bounds the body of a batch.
const maxBatchBytes = 1 << 20

// parseBatch reads the body of a batch. Mistakes are answered with 400 and say
// which entry has them.
func parseBatch(src string) ([]dsync.Lookup, error) {
	var body struct {
		Get []map[string]json.RawMessage `json:"get"`
	}
	d := json.NewDecoder(strings.NewReader(src))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil || d.More() || body.Get == nil || !utf8.ValidString(src) {
		return nil, badRequest(`Invalid data; a batch is {"get":[{"path":"/rooms/r1"}]}`)
	}
	if len(body.Get) > dsync.MaxLookups {
		return nil, badRequest(dsync.TooManyLookups().Error())
	}
	entries := make([]dsync.Lookup, len(body.Get))
	for i, members := range body.Get {
		var err error
		if entries[i], err = parseEntry(members); err != nil {
			return nil, badRequest(fmt.Sprintf("get[%d]: %s", i, batchErrorText(err)))
		}
	}
	return entries, nil
}

func batchErrorText(err error) string {
	switch {
	case errors.Is(err, tree.ErrInvalidPath):
		return textBadPath
	case errors.Is(err, tree.ErrTooDeep):
		return textTooDeep
	}
	return err.Error()
}

func parseEntry(members map[string]json.RawMessage) (l dsync.Lookup, err error) {
	var ps params
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw := bytes.TrimSpace(members[name])
		switch name {
		case "path", "keys":
			l.Read.Path, err = batchPath(name, raw)
		case "child":
			l.Each, err = batchTemplate(raw)
		case "shallow":
			if l.Shallow = string(raw) == "true"; !l.Shallow && string(raw) != "false" {
				err = errors.New("shallow must be true or false")
			}
		default:
			if !slices.Contains(queryParams, name) {
				return l, fmt.Errorf("there is no member %.40q", name)
			}
			ps = append(ps, param{name, string(raw)})
		}
		if err != nil {
			return l, err
		}
	}
	if err := checkEntry(members, l.Shallow, ps.isQuery()); err != nil {
		return l, err
	}
	l.Read.Plain = !ps.isQuery()
	l.Read.Query, err = parseQuery(ps)
	return l, err
}

// queryParams are the members of an entry that select children. Their values are
// what the parameters of a GET are, without their escapes: "orderBy":"$key".
var queryParams = slices.Concat([]string{"orderBy"}, boundParams, limitParams)

// checkEntry refuses combinations that mean nothing.
func checkEntry(members map[string]json.RawMessage, shallow, isQuery bool) error {
	_, path := members["path"]
	_, keys := members["keys"]
	_, child := members["child"]
	switch {
	case path == keys:
		return errors.New("there must be a path, or keys and child")
	case keys != child:
		return errors.New("keys and child go together")
	case shallow && (keys || isQuery):
		return errors.New("Mixing 'shallow' and querying parameters is not supported")
	}
	return nil
}

func batchPath(name string, raw []byte) (tree.Path, error) {
	text, err := batchString(name, raw)
	if err != nil {
		return tree.Root, err
	}
	return tree.ParsePath(text)
}

func batchTemplate(raw []byte) (*tree.Template, error) {
	text, err := batchString("child", raw)
	if err != nil {
		return nil, err
	}
	t, err := tree.ParseTemplate(text)
	if errors.Is(err, tree.ErrTemplate) {
		err = errors.New("child must be a path with $key in place of a segment")
	}
	return &t, err
}

func batchString(name string, raw []byte) (text string, err error) {
	if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return "", errors.New(name + " must be a string")
	}
	return text, nil
}
