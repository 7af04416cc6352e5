package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/versions"
)

// Names of the settings that are kept with a database (REST §12.2).
const (
	settingWriteSize     = "defaultWriteSizeLimit"
	settingStrictTrigger = "strictTriggerValidation"
)

// writeSizeLimit returns the size limit of writes that ask for none.
func writeSizeLimit(q *request) string {
	if size := q.db.Setting(settingWriteSize); size != "" {
		return size
	}
	return "large"
}

// openSettings is open for /.settings, which is for administrators only
// (REST §12).
func (q *request) openSettings() (err error) {
	if err := q.openDatabase(); err != nil {
		return err
	}
	if err := q.openAdmin(); err != nil {
		return err
	}
	return q.form.readPrint(q.params)
}

// openAdmin is open for what belongs to the server and not to a database. An
// account that is for one database is no administrator of the server.
func (q *request) openAdmin() error {
	if err := q.identify(); err != nil {
		return err
	}
	if !q.id.Admin {
		return &statusError{http.StatusUnauthorized, textDenied}
	}
	return nil
}

func getWriteSizeLimit(q *request) (answer, error) {
	return q.jsonText(`"` + writeSizeLimit(q) + `"`), nil
}

func putWriteSizeLimit(q *request) (answer, error) {
	var size string
	src, err := readSetting(q, &size)
	if err != nil {
		return answer{}, err
	}
	if _, known := writeSizes[size]; !known || size == "tiny" {
		return answer{}, badRequest("defaultWriteSizeLimit must be small, medium, large or unlimited")
	}
	if err := q.db.SetSetting(q.r.Context(), settingWriteSize, size); err != nil {
		return answer{}, err
	}
	return q.jsonText(src), nil
}

func getTriggerValidation(q *request) (answer, error) {
	if q.db.Setting(settingStrictTrigger) == "true" {
		return q.jsonText(`{"value":true}`), nil
	}
	return q.jsonText(`{"value":false}`), nil
}

func putTriggerValidation(q *request) (answer, error) {
	var strict bool
	src, err := readSetting(q, &strict)
	if err != nil {
		return answer{}, err
	}
	value := "false"
	if strict {
		value = "true"
	}
	if err := q.db.SetSetting(q.r.Context(), settingStrictTrigger, value); err != nil {
		return answer{}, err
	}
	return q.jsonText(src), nil
}

// errNoTriggers is the answer to the registration of a function (REST §12.4).
// firebase-tools prints it.
var errNoTriggers = &statusError{http.StatusNotImplemented, "Dogwood does not run function triggers: this function would never be called. Leave the functions emulator out, for example with firebase emulators:start --only database, or listen to the path from a program of your own."}

// putTriggers refuses the registration of a function, since nothing would run it.
func putTriggers(q *request) (answer, error) {
	return answer{}, errNoTriggers
}

// readSetting reads the body of a request into a variable and returns its text.
func readSetting(q *request, v any) (string, error) {
	src, err := q.text(maxSettingSize)
	if err != nil {
		return "", err
	}
	if json.Unmarshal([]byte(src), v) != nil {
		return "", badRequest(textBadJSON)
	}
	return strings.TrimSpace(src), nil
}

// notFound answers for management paths that do not exist, to administrators.
func notFound(q *request) (answer, error) {
	return answer{}, errNotFound
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
	if c.Document, err = derive.Parse(src); err == nil {
		err = declared.Supported(c.Document)
	}
	if err != nil {
		return answer{}, badRequest(err.Error())
	}
	if dry, _ := q.params.get("dryRun"); dry == "true" {
		if c.IfHash != "" && c.IfHash != hashOf(q.db.Data()) {
			return answer{}, declared.ErrChanged
		}
		return q.jsonText(`{"status":"ok"}`), nil
	}
	v, err := q.db.ChangeData(q.r.Context(), c)
	if err != nil {
		return answer{}, err
	}
	a := q.jsonText(`{"status":"ok"}`)
	a.tag = rulesTag(v.Hash)
	return a, nil
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
	document, err := derive.Parse(source)
	if err == nil {
		err = declared.Supported(document)
	}
	if err != nil {
		return answer{}, badRequest(err.Error())
	}
	v, err := q.db.ChangeData(q.r.Context(), versions.DataChange{
		Document: document, Author: rulesAuthor(q), Comment: body.Comment, Restore: old.Number,
	})
	if err != nil {
		return answer{}, err
	}
	return q.encode(map[string]any{"status": "ok", "version": v.Number})
}
