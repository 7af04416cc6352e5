package consistency

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// A restClient sends each request once.
type restClient struct {
	host string
	http *http.Client
}

func newRESTClient(host string) *restClient {
	return &restClient{host, &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}}
}

// ask sends a request with one header, if it has a name.
func (c *restClient) ask(method, key, body, name, value string) (status int, text, etag string, err error) {
	r, err := http.NewRequest(method, fmt.Sprintf("http://%s/%s.json?ns=test", c.host, key), strings.NewReader(body))
	if err != nil {
		return 0, "", "", err
	}
	if name != "" {
		r.Header.Set(name, value)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, "", "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), resp.Header.Get("ETag"), err
}

// get returns a string and its tag for conditions.
func (c *restClient) get(key string) (value, etag string, err error) {
	status, text, etag, err := c.ask(http.MethodGet, key, "", "X-Firebase-ETag", "true")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d %s", status, text)
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &value) // null leaves it empty
	}
	return value, etag, err
}

func (c *restClient) read(key string) (string, error) {
	value, _, err := c.get(key)
	return value, err
}

func (c *restClient) write(key, tag string) error {
	status, text, _, err := c.ask(http.MethodPut, key, fmt.Sprintf("%q", tag), "", "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d %s", status, text)
	}
	return err
}

// swap makes a few attempts.
func (c *restClient) swap(key string, tag func() string) (tried []attempt, done bool) {
	for range 3 {
		old, etag, err := c.get(key)
		if err != nil {
			return tried, false
		}
		a := attempt{Old: old, Tag: tag()}
		status, _, _, err := c.ask(http.MethodPut, key, fmt.Sprintf("%q", a.Tag), "If-Match", etag)
		a.Refused = err == nil && status == http.StatusPreconditionFailed
		tried = append(tried, a)
		switch {
		case err != nil:
			return tried, false
		case status == http.StatusOK:
			return tried, true
		case !a.Refused:
			return tried, false
		}
	}
	return tried, false
}

func (c *restClient) resends() bool { return false }

func (c *restClient) kind() string { return "rest" }

func (c *restClient) close() error {
	c.http.CloseIdleConnections()
	return nil
}

var errEnded = errors.New("the client has ended")
