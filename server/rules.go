package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/versions"
)

// This file is /.settings/rules.json (REST §12.1) and the versions that each
// upload makes. Beside what the hosted service knows, an upload takes
//
//	dialect=wilddog      the language is Wilddog's
//	extensions=newRoot   it uses extensions
//	comment=TEXT         is kept with the version
//	If-Match: ETAG       only if the rules in force are those with this ETag
//
// The first two are kept with the rules; without them, those of Options count.

// maxComment is the length of the longest comment on an upload.
const maxComment = 500

// getRules answers with the rules as they were uploaded, or as strict JSON.
func getRules(q *request) (answer, error) {
	rs := q.db.Rules()
	if format, _ := q.params.get("format"); format == "strict" {
		return answer{status: http.StatusOK, body: []byte(rs.Strict())}, nil
	}
	return rulesText(rs.Source()), nil
}

// rulesText answers with the source of rules.
func rulesText(source string) answer {
	return answer{status: http.StatusOK, body: []byte(source), tag: rulesTag(versions.Hash(source))}
}

// rulesTag returns the ETag of rules with a hash.
func rulesTag(hash string) string { return `"` + hash + `"` }

// putRules checks a rules document and, unless dryRun is given, installs it.
// Whatever is wrong with it is a 400, which is what the CLI shows.
//
// The document is compiled before anything is stored, and put in force by a
// commit (sync.ChangeRules): a client that gets 200 has the rules in force,
// durably, and listeners have been decided again.
func putRules(q *request) (answer, error) {
	change, err := readRulesChange(q)
	if err != nil {
		return answer{}, err
	}
	src, err := q.text(maxRulesBytes)
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
		return answer{}, badRequest(textRulesTooBig) // as rules.Parse says it of what was read
	}
	if err != nil {
		return answer{}, err
	}
	if change.Rules, err = change.Options.Parse(src); err != nil {
		return answer{}, refusedRules(err)
	}
	if dry, _ := q.params.get("dryRun"); dry == "true" {
		if change.IfHash != "" && change.IfHash != versions.Hash(q.db.Rules().Source()) {
			return answer{}, dsync.ErrRulesChanged
		}
		return q.jsonText(`{"status":"ok"}`), nil
	}
	v, err := q.db.ChangeRules(q.r.Context(), change)
	if err != nil {
		return answer{}, err
	}
	a := q.jsonText(`{"status":"ok"}`)
	a.tag = rulesTag(v.Hash)
	return a, nil
}

// refusedRules is the answer to rules that do not compile. Its text has one line for each
// rule, and its detail, if that says more, one for each mistake.
func refusedRules(err error) error {
	var errs rules.Errors
	if errors.As(err, &errs) && errs.Text() != errs.Error() {
		return &detailedError{badRequest(errs.Error()), errs.Text()}
	}
	return badRequest(err.Error())
}

// readRulesChange reads the other parts of an upload of rules.
func readRulesChange(q *request) (c versions.Change, err error) {
	c = versions.Change{Options: q.s.opts.RulesOptions, Author: rulesAuthor(q)}
	dialect, hasDialect := q.params.get("dialect")
	extensions, hasExtensions := q.params.get("extensions")
	if hasDialect || hasExtensions {
		if c.Options, err = versions.ParseOptions(dialect, extensions); err != nil {
			return c, badRequest(err.Error())
		}
	}
	c.Comment, c.IfHash, err = readChange(q)
	return c, err
}

// readChange reads what an upload says of itself: a comment, and the hash of what must be
// in force.
func readChange(q *request) (comment, ifHash string, err error) {
	comment, _ = q.params.get("comment")
	if !validComment(comment) {
		return "", "", errComment
	}
	if tag := matchOf(q.r.Header); tag != anyTag {
		ifHash = tag
	}
	return comment, ifHash, nil
}

var errComment = badRequest("comment must be a text of at most " + strconv.Itoa(maxComment) + " bytes")

func validComment(s string) bool {
	return len(s) <= maxComment && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar })
}

// getRulesVersions lists the versions that are kept, newest first:
// GET /.settings/rules/versions.json
func getRulesVersions(q *request) (answer, error) {
	list, err := q.db.RulesHistory()
	if err != nil {
		return answer{}, err
	}
	if list == nil {
		list = []versions.Version{}
	}
	return q.encode(list)
}

// getRulesVersion answers with the source of a version:
// GET /.settings/rules/versions/7.json
func getRulesVersion(q *request) (answer, error) {
	number, err := versionIn(q, "/.settings/rules/versions/")
	if err != nil {
		return answer{}, err
	}
	_, source, err := q.db.RulesVersion(number)
	if err != nil {
		return answer{}, err
	}
	return rulesText(source), nil
}

// versionIn returns the number of a version in a path.
func versionIn(q *request, prefix string) (int64, error) {
	text, isJSON := strings.CutSuffix(strings.TrimPrefix(q.path, prefix), ".json")
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !isJSON {
		return 0, errNotFound
	}
	return number, nil
}

// A rollback is the body of a request for one.
type rollback struct {
	Version int64  `json:"version"`
	Comment string `json:"comment"`
}

func readRollback(q *request) (body rollback, err error) {
	if _, err := readSetting(q, &body); err != nil {
		return body, err
	}
	if !validComment(body.Comment) {
		return body, errComment
	}
	return body, nil
}

// postRollback puts the rules of an earlier version in force, as a new version:
// POST /.settings/rules/rollback.json {"version":7}
func postRollback(q *request) (answer, error) {
	body, err := readRollback(q)
	if err != nil {
		return answer{}, err
	}
	old, source, err := q.db.RulesVersion(body.Version)
	if err != nil {
		return answer{}, err
	}
	rs, err := old.Options().ParseStored(source)
	if err != nil {
		return answer{}, badRequest(err.Error())
	}
	v, err := q.db.ChangeRules(q.r.Context(), versions.Change{
		Rules: rs, Options: old.Options(), Author: rulesAuthor(q), Comment: body.Comment, Restore: old.Number,
	})
	if err != nil {
		return answer{}, err
	}
	return q.encode(map[string]any{"status": "ok", "version": v.Number})
}

// rulesAuthor names an administrator for the history of the rules.
func rulesAuthor(q *request) string {
	switch account := q.id.credential.Account(); {
	case account != "":
		return "service account " + account
	case q.s.opts.Dev:
		return "owner"
	}
	return "admin secret"
}

// SetDefaultRules replaces Options.Rules and Options.RulesOf: the rules of
// databases that were given none by an upload. It holds for open databases, whose
// listens are decided again, and for those that will be opened.
func (s *Server) SetDefaultRules(ctx context.Context, all *rules.Ruleset, of map[string]*rules.Ruleset) error {
	if all == nil {
		all = standardRules(s.opts.Dev)
	}
	return s.spaces.setDefaultRules(ctx, all, of)
}

// GivenRules returns the open databases that were given rules by an upload, to which default
// rules do not apply, each with the number of the version in force.
func (s *Server) GivenRules() (map[string]int64, error) {
	given := make(map[string]int64)
	for ns, db := range s.spaces.opened() {
		list, err := db.RulesHistory()
		if errors.Is(err, fault.ErrClosed) { // it was idle
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("rules of %s: %w", ns, err)
		}
		for _, v := range list {
			given[ns] = max(given[ns], v.Number)
		}
	}
	return given, nil
}

func (n *namespaces) setDefaultRules(ctx context.Context, all *rules.Ruleset, of map[string]*rules.Ruleset) error {
	n.mu.Lock()
	n.opts.Rules, n.opts.RulesOf = all, of
	n.mu.Unlock()
	var errs []error
	for _, ns := range n.all() {
		if err := n.renewRules(ctx, ns); err != nil && !errors.Is(err, fault.ErrClosed) {
			errs = append(errs, fmt.Errorf("rules of %s: %w", ns.name, err))
		}
	}
	return errors.Join(errs...)
}

// renewRules tells a namespace's database its default rules. A database that is
// being opened may have begun with those before, so it is waited for. The lock
// of the namespace is what orders this and opening: one of the two sees the
// other's effect.
func (n *namespaces) renewRules(ctx context.Context, ns *namespace) error {
	ns.mu.Lock()
	db := ns.db.Load()
	ns.mu.Unlock()
	if db == nil {
		return nil
	}
	return db.SetDefaultRules(ctx, n.defaultRules(ns.name))
}

// defaultRules returns the rules of a namespace that was given none.
func (n *namespaces) defaultRules(name string) *rules.Ruleset {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.opts.RulesOf[name]; r != nil {
		return r
	}
	return n.opts.Rules
}

// authorFile is the author of versions of the data document that are from Options.
const authorFile = "file"

// SetDefaultData replaces Options.Data and Options.DataOf. It holds for open databases, and for
// those that will be opened. kept are open databases that were given another document by an
// upload, which stays in force.
func (s *Server) SetDefaultData(ctx context.Context, all *derive.Document, of map[string]*derive.Document) (kept []string, err error) {
	n := s.spaces
	n.mu.Lock()
	n.opts.Data, n.opts.DataOf = all, of
	n.mu.Unlock()
	var errs []error
	for _, ns := range n.all() {
		ns.mu.Lock() // as renewRules does
		db := ns.db.Load()
		ns.mu.Unlock()
		if db == nil {
			continue
		}
		given, err := n.declare(ctx, ns.name, db)
		if err != nil && !errors.Is(err, fault.ErrClosed) {
			errs = append(errs, fmt.Errorf("data document of %s: %w", ns.name, err))
		}
		if given {
			kept = append(kept, ns.name)
		}
	}
	slices.Sort(kept)
	return kept, errors.Join(errs...)
}

// declare puts the default data document of a database in force. It reports whether the
// database was given another one by an upload.
func (n *namespaces) declare(ctx context.Context, name string, db *dsync.Database) (given bool, err error) {
	n.mu.Lock()
	d := n.opts.DataOf[name]
	if d == nil {
		d = n.opts.Data
	}
	n.mu.Unlock()
	if d == nil {
		return false, nil
	}
	list, err := db.DataHistory()
	if err != nil || len(list) > 0 && list[0].Author != authorFile {
		return err == nil && list[0].Hash != hashOf(d), err
	}
	_, err = db.ChangeData(ctx, versions.DataChange{Document: d, Author: authorFile})
	return false, err
}

// getDataDocument answers with the data document as it was uploaded (REST §12.7).
func getDataDocument(q *request) (answer, error) {
	d := q.db.Data()
	if d == nil {
		return answer{}, errNoDocument
	}
	return rulesText(d.Source()), nil
}

var errNoDocument = &statusError{http.StatusNotFound, "There is no data document."}

// putDataDocument checks a data document and, unless dryRun is given, puts it in force:
// PUT /.settings/data.json. Parameters are those of rules.
func putDataDocument(q *request) (answer, error) {
	c := versions.DataChange{Author: rulesAuthor(q)}
	var err error
	if c.Comment, c.IfHash, err = readChange(q); err != nil {
		return answer{}, err
	}
	src, err := q.text(derive.MaxDocument + 1)
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
		src, err = strings.Repeat(" ", derive.MaxDocument+1), nil // Parse has the text
	}
	if err != nil {
		return answer{}, err
	}
	if c.Document, err = derive.Parse(src); err != nil {
		return answer{}, badRequest(err.Error())
	}
	if isDry(q) {
		return dryRunData(q, c)
	}
	v, err := q.db.ChangeData(q.r.Context(), c)
	if err != nil {
		return answer{}, err
	}
	a := q.jsonText(`{"status":"ok"}`)
	a.tag = rulesTag(v.Hash)
	return a, nil
}

// isDry reports whether a document is only to be checked.
func isDry(q *request) bool {
	dry, _ := q.params.get("dryRun")
	return dry == "true"
}

// dryRunData answers with what a change would find.
func dryRunData(q *request, c versions.DataChange) (answer, error) {
	if c.IfHash != "" && c.IfHash != hashOf(q.db.Data()) {
		return answer{}, declared.ErrChanged
	}
	q.form.timeout = readTimeout
	return answerWith(q, func(ctx context.Context, q *request) (answer, error) { return previewData(ctx, q, c.Document) })
}

// previewData answers with what the new and changed definitions of a document would find.
func previewData(ctx context.Context, q *request, d *derive.Document) (answer, error) {
	list, err := q.db.PreviewData(ctx, d)
	if err != nil {
		return answer{}, err
	}
	return q.encode(struct {
		Status      string             `json:"status"`
		Definitions []declared.Preview `json:"definitions"`
	}{"ok", list})
}

func hashOf(d *derive.Document) string {
	if d == nil {
		return ""
	}
	return versions.Hash(d.Source())
}

// getDataVersions lists the versions that are kept, newest first:
// GET /.settings/data/versions.json
func getDataVersions(q *request) (answer, error) {
	list, err := q.db.DataHistory()
	if err != nil {
		return answer{}, err
	}
	if list == nil {
		list = []versions.Version{}
	}
	return q.encode(list)
}

// getDataVersion answers with the text of a version: GET /.settings/data/versions/7.json
func getDataVersion(q *request) (answer, error) {
	number, err := versionIn(q, "/.settings/data/versions/")
	if err != nil {
		return answer{}, err
	}
	_, source, err := q.db.DataVersion(number)
	if err != nil {
		return answer{}, err
	}
	return rulesText(source), nil
}

// postDataRollback puts the document of an earlier version in force, as a new version:
// POST /.settings/data/rollback.json {"version":7}
func postDataRollback(q *request) (answer, error) {
	body, err := readRollback(q)
	if err != nil {
		return answer{}, err
	}
	old, source, err := q.db.DataVersion(body.Version)
	if err != nil {
		return answer{}, err
	}
	c := versions.DataChange{Author: rulesAuthor(q), Comment: body.Comment, Restore: old.Number}
	if _, c.IfHash, err = readChange(q); err != nil {
		return answer{}, err
	}
	if c.Document, err = derive.Parse(source); err != nil {
		return answer{}, badRequest(err.Error())
	}
	if isDry(q) {
		return dryRunData(q, c)
	}
	v, err := q.db.ChangeData(q.r.Context(), c)
	if err != nil {
		return answer{}, err
	}
	return q.encode(map[string]any{"status": "ok", "version": v.Number})
}

// getDataStatus says how far definitions are: GET /.settings/data/status.json
func getDataStatus(q *request) (answer, error) {
	list, err := q.db.DataStatus()
	if err != nil {
		return answer{}, err
	}
	return q.encode(list)
}

// postDataVerb pauses, resumes or rebuilds a definition: POST /.settings/data/NAME/rebuild.json
func postDataVerb(q *request) (answer, error) {
	name, verb, _ := strings.Cut(strings.TrimPrefix(q.path, "/.settings/data/"), "/")
	verb, isJSON := strings.CutSuffix(verb, ".json")
	if !isJSON || !slices.Contains([]string{declared.Pause, declared.Resume, declared.Rebuild}, verb) {
		return answer{}, errNotFound
	}
	if err := q.db.ControlData(q.r.Context(), name, verb); err != nil {
		return answer{}, err
	}
	return q.jsonText(`{"status":"ok"}`), nil
}
