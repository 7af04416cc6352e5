package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/dogwooddb/dogwood/rules"
)

// settings are what /.settings keeps for one namespace beside its rules.
type settings struct {
	mu            sync.Mutex
	size          string // defaultWriteSizeLimit, "" is large
	strictTrigger bool   // strictTriggerValidation
}

func (t *settings) writeSize() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.size == "" {
		return "large"
	}
	return t.size
}

// openSettings is open for /.settings, which is for administrators only (REST
// §12).
func (q *request) openSettings() (err error) {
	if err := q.openDatabase(); err != nil {
		return err
	}
	if err := q.openAdmin(); err != nil {
		return err
	}
	return q.form.readPrint(q.params)
}

func (q *request) openAdmin() error {
	if err := q.identify(); err != nil {
		return err
	}
	if !q.id.Admin {
		return &statusError{http.StatusUnauthorized, textDenied}
	}
	return nil
}

// getRules answers with the rules as they were uploaded, or as strict JSON.
func (s *Server) getRules(q *request) (answer, error) {
	if err := q.openSettings(); err != nil {
		return answer{}, err
	}
	source := q.db.Rules().Source()
	if format, _ := q.params.get("format"); format == "strict" {
		source = q.db.Rules().Strict()
	}
	return answer{status: http.StatusOK, body: []byte(source)}, nil
}

// putRules checks a rules document and, unless dryRun is given, installs it.
// Whatever is wrong with it is a 400, which is what the CLI shows.
func (s *Server) putRules(q *request) (answer, error) {
	if err := q.openSettings(); err != nil {
		return answer{}, err
	}
	src, err := q.text(maxRulesBytes)
	if err != nil {
		return answer{}, err
	}
	rs, err := rules.Parse(src)
	if err != nil {
		return answer{}, badRequest(err.Error())
	}
	if dry, _ := q.params.get("dryRun"); dry != "true" {
		if err := q.db.SetRules(q.r.Context(), rs); err != nil {
			return answer{}, err
		}
	}
	return q.jsonText(`{"status":"ok"}`), nil
}

func (s *Server) getWriteSizeLimit(q *request) (answer, error) {
	if err := q.openSettings(); err != nil {
		return answer{}, err
	}
	return q.jsonText(`"` + q.space.settings.writeSize() + `"`), nil
}

func (s *Server) putWriteSizeLimit(q *request) (answer, error) {
	var size string
	src, err := q.setting(&size)
	if err != nil {
		return answer{}, err
	}
	if _, known := writeSizes[size]; !known || size == "tiny" {
		return answer{}, badRequest("defaultWriteSizeLimit must be small, medium, large or unlimited")
	}
	t := &q.space.settings
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size = size
	return q.jsonText(src), nil
}

func (s *Server) getTriggerValidation(q *request) (answer, error) {
	if err := q.openSettings(); err != nil {
		return answer{}, err
	}
	t := &q.space.settings
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.strictTrigger {
		return q.jsonText(`{"value":true}`), nil
	}
	return q.jsonText(`{"value":false}`), nil
}

func (s *Server) putTriggerValidation(q *request) (answer, error) {
	var strict bool
	src, err := q.setting(&strict)
	if err != nil {
		return answer{}, err
	}
	t := &q.space.settings
	t.mu.Lock()
	defer t.mu.Unlock()
	t.strictTrigger = strict
	return q.jsonText(src), nil
}

// putTriggers accepts the registration of a function that nothing runs (REST
// §12.4).
func (s *Server) putTriggers(q *request) (answer, error) {
	var trigger map[string]any
	if _, err := q.setting(&trigger); err != nil {
		return answer{}, err
	}
	return q.jsonText(`{"status":"ok"}`), nil
}

// setting reads the body of an administrator's request into a variable and
// returns its text.
func (q *request) setting(v any) (string, error) {
	if err := q.openSettings(); err != nil {
		return "", err
	}
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
func (s *Server) notFound(q *request) (answer, error) {
	if err := q.openAdmin(); err != nil {
		return answer{}, err
	}
	return answer{}, errNotFound
}
