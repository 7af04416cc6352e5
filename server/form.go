package server

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/tree"
)

// A form is what a request's parameters ask for (REST §4.4 to §5).
//
// It is read completely before the handler runs, so a handler never finds a
// mistake in a parameter halfway.
type form struct {
	query   tree.Query
	isQuery bool // parameters that select children were given
	shallow bool
	export  bool
	explain bool
	count   bool
	changes bool   // of a stream: only what happens from now on
	notify  bool   // of a stream: only which children change from now on
	pages   bool   // children: the children are described, page by page
	reverse bool   // descending: from the end to the start
	own     bool   // readable: the children that the caller may read
	next    string // of readable: where the page begins, "" for the beginning
	pretty  bool
	silent  bool

	callback string
	download string
	timeout  time.Duration
	maxWrite string // writeSizeLimit, "" if not given
	dataOnly bool   // import, of PUT: what is written are data, without server values
	after    string // shallow: the key behind which the listing starts
}

// parseForm reads the parameters that a method has. Of a read, it refuses those that are
// unknown, because the client expects another answer. Of a write, it ignores them.
func parseForm(ps params, method string) (f form, err error) {
	if err = f.readPrint(ps); err != nil {
		return f, err
	}
	if f.explain, err = parseFlag(ps, "explain"); err != nil {
		return f, err
	}
	shallow, _ := ps.get("shallow")
	f.shallow, f.isQuery = strings.EqualFold(shallow, "true"), ps.isQuery()
	if method != http.MethodGet && method != http.MethodHead {
		if f.dataOnly, err = parseFlag(ps, "import"); err != nil {
			return f, err
		}
		f.maxWrite, err = parseWriteSize(ps)
		return f, err
	}
	if f.count, err = parseFlag(ps, "count"); err != nil {
		return f, err
	}
	if format, _ := ps.get("format"); format == "export" {
		f.export = true
	} else if format != "" {
		return f, badRequest("format must be export")
	}
	f.download, _ = ps.get("download")
	if f.callback, err = parseCallback(ps); err != nil {
		return f, err
	}
	if f.timeout, err = parseTimeout(ps); err != nil {
		return f, err
	}
	if err = f.readSelection(ps); err == nil {
		err = checkKnown(ps)
	}
	return f, err
}

// readSelection reads which children are asked for, and in which form.
func (f *form) readSelection(ps params) (err error) {
	if f.pages, err = parseFlag(ps, "children"); err != nil {
		return err
	}
	if f.changes, err = parseFlag(ps, "changes"); err != nil {
		return err
	}
	if f.notify, err = parseFlag(ps, "notify"); err != nil {
		return err
	}
	if f.reverse, err = parseFlag(ps, "descending"); err != nil {
		return err
	}
	if f.own, err = parseFlag(ps, "readable"); err != nil {
		return err
	}
	f.next, _ = ps.get("next")
	switch {
	case f.notify && f.changes:
		return badRequest("Mixing notify and changes is not supported")
	case f.own:
		return f.readReadable(ps)
	case f.next != "":
		return badRequest("next goes with readable=true")
	case f.pages && f.shallow:
		return badRequest("Mixing 'shallow' and children is not supported")
	case f.reverse && !f.pages:
		return badRequest("descending goes with children=true; the children of an object are in the order of their keys")
	case f.shallow:
		return f.readShallow(ps)
	case f.pages && ps.any("orderBy") == "":
		ps = append(ps[:len(ps):len(ps)], param{"orderBy", `"$key"`})
	}
	f.query, err = parseQuery(ps)
	if err == nil && f.pages && f.query.Limit > dsync.MaxPage {
		err = badRequest(fmt.Sprintf("A page has at most %d children", dsync.MaxPage))
	}
	if f.pages && f.query.Limit == 0 {
		f.query.Limit = dsync.DefaultPage
	}
	return err
}

// readReadable reads what readable=true goes with: keys in their order, and a limit.
func (f *form) readReadable(ps params) (err error) {
	order, ordered := ps.get("orderBy")
	if ordered && order != `"$key"` {
		return badRequest("readable=true lists children in the order of their keys")
	}
	if name := ps.any("children", "count", "explain", "changes", "notify", "descending", "where", "limitToLast"); name != "" {
		return badRequest("Mixing readable and " + name + " is not supported")
	}
	if f.next != "" && ps.any("startAt", "startAfter", "equalTo") != "" {
		return badRequest("Mixing next and where a range starts is not supported")
	}
	if !ordered {
		ps = append(ps[:len(ps):len(ps)], param{"orderBy", `"$key"`})
	}
	if f.query, err = parseQuery(ps); err != nil {
		return err
	}
	if f.query.Limit == 0 {
		f.query.Limit = dsync.DefaultPage
	}
	if f.query.Limit > dsync.MaxPage {
		return badRequest(fmt.Sprintf("A page has at most %d children", dsync.MaxPage))
	}
	return nil
}

// extensions names the parameters that were given and change what is answered.
func (f *form) extensions() (names []string) {
	for _, x := range []struct {
		name  string
		given bool
	}{{"where", f.query.Filter != nil}, {"changes", f.changes}, {"notify", f.notify}, {"children", f.pages}, {"descending", f.reverse}, {"readable", f.own}} {
		if x.given {
			names = append(names, x.name)
		}
	}
	return names
}

func (f *form) readPrint(ps params) error {
	switch v, _ := ps.get("print"); v {
	case "":
	case "pretty":
		f.pretty = true
	case "silent":
		f.silent = true
	default:
		return badRequest("print must be pretty or silent")
	}
	return nil
}

// parseFlag reads a parameter that is true or false, or not there.
func parseFlag(ps params, name string) (bool, error) {
	value, ok := ps.get(name)
	if ok && value != "true" && value != "false" {
		return false, badRequest(name + " must be true or false")
	}
	return value == "true", nil
}

// readShallow reads the two parameters that shallow goes with: the CLI pages
// through keys with limitToFirst and an unquoted startAfter (REST §4.5).
func (f *form) readShallow(ps params) error {
	f.query.OrderBy = tree.ByKey
	if ps.any("orderBy", "startAt", "endAt", "endBefore", "equalTo", "limitToLast", "where", "maxVisited") != "" {
		return badRequest("Mixing 'shallow' and querying parameters is not supported")
	}
	if err := checkOnce(ps, nil); err != nil {
		return err
	}
	if _, ok := ps.get("limitToFirst"); ok {
		n, err := parseLimit(ps, "limitToFirst")
		if err != nil {
			return err
		}
		f.query.Limit = n
	}
	text, ok := ps.get("startAfter")
	if !ok {
		return nil
	}
	f.after = text
	if value, err := parseScalar(text); err == nil {
		if key, isString := value.StringValue(); isString {
			f.after = key
		}
	}
	if !tree.ValidKey(f.after) {
		return badRequest("Constraint key field must be a valid key name")
	}
	return nil
}

// maxCallback is how long the name of a callback may be. Such bounds are not part of regular
// expressions: to compile a repeat takes milliseconds at each start of the program.
const maxCallback = 256

// A callback may name nested functions, and nothing that could be a program.
var callbackName = regexp.MustCompile(`^[A-Za-z_$][\w$.]*$`)

func parseCallback(ps params) (string, error) {
	name, ok := ps.get("callback")
	if ok && (len(name) > maxCallback || !callbackName.MatchString(name)) {
		return "", badRequest("callback must be the name of a function")
	}
	return name, nil
}

var timeoutUnits = []struct {
	suffix string
	unit   time.Duration
}{{"ms", time.Millisecond}, {"min", time.Minute}, {"s", time.Second}}

// parseTimeout reads timeout=, a positive number with a unit.
func parseTimeout(ps params) (time.Duration, error) {
	text, ok := ps.get("timeout")
	if !ok {
		return readTimeout, nil
	}
	bad := badRequest("timeout must be a positive number of ms, s or min and at most 15min")
	for _, u := range timeoutUnits {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !(n > 0 && n <= float64(readTimeout/u.unit)) {
			return 0, bad
		}
		return max(time.Duration(n*float64(u.unit)), 1), nil
	}
	return 0, bad
}

// writeSizes are the values of writeSizeLimit and defaultWriteSizeLimit with
// the time a write may take (REST §4.6).
var writeSizes = map[string]time.Duration{
	"tiny":      1 * time.Second,
	"small":     10 * time.Second,
	"medium":    30 * time.Second,
	"large":     60 * time.Second,
	"unlimited": 0,
}

func parseWriteSize(ps params) (string, error) {
	size, ok := ps.get("writeSizeLimit")
	if _, known := writeSizes[size]; ok && !known {
		return "", badRequest("writeSizeLimit must be tiny, small, medium, large or unlimited")
	}
	return size, nil
}

// writeRate is the assumed speed of a commit, in bytes of JSON per second. It
// is on the low side: a wrong guess refuses a write that would have been slow,
// not one that is small.
const writeRate = 8 << 20

// fits reports whether a write of n bytes is estimated to keep to its size.
// Removing takes no time to speak of, whatever is removed. It is an estimate by
// size, as the service's is: nothing is cut off in the middle of a write.
func fits(n int, size string) bool {
	limit := writeSizes[size]
	return limit == 0 || time.Duration(n/writeRate)*time.Second <= limit
}
