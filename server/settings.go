package server

import (
	"encoding/json"
	"net/http"
	"strings"
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
