package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// An Admin prepares a database over REST.
type Admin struct {
	target Target
	http   *http.Client
}

// NewAdmin returns the administrator of a target.
func NewAdmin(t Target) *Admin { return &Admin{target: t, http: &http.Client{}} }

// CloseIdle closes connections that no request uses.
func (a *Admin) CloseIdle() { a.http.CloseIdleConnections() }

// Prepare makes the database fit for a workload and returns what to do when the
// load is over.
func (a *Admin) Prepare(ctx context.Context, rules string, force, keep bool) (restore func(), err error) {
	if !force {
		if err := a.wantEmpty(ctx); err != nil {
			return nil, err
		}
	}
	if a.target.Secret != "" {
		if err := a.Put(ctx, "/.settings/rules", strings.NewReader(rules)); err != nil {
			return nil, fmt.Errorf("set the rules: %w", err)
		}
	}
	if force || keep {
		return func() {}, nil
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Grace)
		defer cancel()
		_ = a.clear(ctx) // the database was made for this; data that stay in it do no harm
	}, nil
}

var errNoDatabase = errors.New(`the server has no such database; "dogwood serve --namespace NAME" creates one`)

// errNotEmpty keeps people from loading a database that is in use.
var errNotEmpty = errors.New("the database is not empty; name another one, or pass --force to load it anyway, which may overwrite data")

func (a *Admin) wantEmpty(ctx context.Context) error {
	body, err := a.Do(ctx, http.MethodGet, "/", "shallow=true", nil)
	var answer *answerError
	switch {
	case errors.As(err, &answer) && answer.status == http.StatusNotFound:
		return errNoDatabase
	case err != nil:
		return fmt.Errorf("check whether the database is empty: %w", err)
	case strings.TrimSpace(string(body)) != "null":
		return errNotEmpty
	}
	return nil
}

// Put replaces the value at a path.
func (a *Admin) Put(ctx context.Context, path string, value io.Reader) error {
	_, err := a.Do(ctx, http.MethodPut, path, "print=silent", value)
	return err
}

// Load replaces the value at a path by one of any size, which the server reads as a
// stream.
func (a *Admin) Load(ctx context.Context, path string, value io.Reader) error {
	_, err := a.Do(ctx, http.MethodPut, path, "print=silent&writeSizeLimit=unlimited", value)
	return err
}

// PatchJSON writes several paths below a path.
func (a *Admin) PatchJSON(ctx context.Context, path string, update map[string]any) error {
	text, err := json.Marshal(update)
	if err == nil {
		_, err = a.Do(ctx, http.MethodPatch, path, "print=silent", bytes.NewReader(text))
	}
	return err
}

// clear removes everything. Writes of connections that were cut may take effect later, so it
// checks again.
func (a *Admin) clear(ctx context.Context) error {
	for {
		if _, err := a.Do(ctx, http.MethodDelete, "/", "", nil); err != nil {
			return err
		}
		select {
		case <-time.After(settle):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := a.wantEmpty(ctx); !errors.Is(err, errNotEmpty) {
			return err
		}
	}
}

// settle is how long such writes may take.
const settle = 20 * time.Millisecond

// maxAdminAnswer bounds answers. All are small.
const maxAdminAnswer = 16 << 20

// Do sends a request about a path and returns the body of the answer.
func (a *Admin) Do(ctx context.Context, method, path, query string, body io.Reader) ([]byte, error) {
	resp, err := a.ask(ctx, method, a.target.resource(path, query), nil, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return bodyOf(resp)
}

// ask sends a request. A resource is what follows the host in an address.
func (a *Admin) ask(ctx context.Context, method, resource string, header http.Header, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.target.URL+resource, body)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	if a.target.Secret != "" {
		r.Header.Set("Authorization", "Bearer "+a.target.Secret)
	}
	return a.http.Do(r)
}

// An answerError is an answer of the server that says what went wrong.
type answerError struct {
	status int
	text   string
}

func (e *answerError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.status, http.StatusText(e.status), e.text)
}

// bodyOf returns the body of a response, or the error that it is.
func bodyOf(resp *http.Response) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAdminAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, &answerError{resp.StatusCode, reason(text)}
	}
	return text, nil
}

// reason returns the error that an answer carries, or the beginning of it.
func reason(body []byte) string {
	var answer struct{ Error string }
	if json.Unmarshal(body, &answer) == nil && answer.Error != "" {
		return answer.Error
	}
	return fmt.Sprintf("%.200s", strings.TrimSpace(string(body)))
}

// Grace is how long a load waits for answers after the last operation began.
const Grace = 10 * time.Second
