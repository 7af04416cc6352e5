package connect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// GetJSON reads the value at a path. dst stays as it is if there is none.
func (a *Admin) GetJSON(ctx context.Context, path string, dst any) error {
	text, err := a.Do(ctx, http.MethodGet, path, "", nil)
	if err == nil {
		err = json.Unmarshal(text, dst)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// Stream reads an answer of any size at a path.
func (a *Admin) Stream(ctx context.Context, path, query string, read func(io.Reader) error) error {
	return a.StreamFrom(ctx, a.target.resource(path, query), read)
}

// StreamFrom reads an answer of any size from a resource, to its end.
func (a *Admin) StreamFrom(ctx context.Context, resource string, read func(io.Reader) error) error {
	resp, err := a.ask(ctx, http.MethodGet, resource, nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		_, err := bodyOf(resp)
		return err
	}
	if err := read(resp.Body); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// GetTagged reads a number and the tag by which a write can be made to depend on
// it.
func (a *Admin) GetTagged(ctx context.Context, path string) (etag string, n int64, err error) {
	resp, err := a.ask(ctx, http.MethodGet, a.target.resource(path, ""), http.Header{"X-Firebase-Etag": {"true"}}, nil)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	text, err := bodyOf(resp)
	if err != nil {
		return "", 0, err
	}
	err = json.Unmarshal(text, &n)
	return resp.Header.Get("ETag"), n, err
}

// PutIf replaces the value at a path if it still has a tag.
func (a *Admin) PutIf(ctx context.Context, path, etag, value string) (stored bool, err error) {
	resp, err := a.ask(ctx, http.MethodPut, a.target.resource(path, ""), http.Header{"If-Match": {etag}}, strings.NewReader(value))
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusPreconditionFailed {
		_, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxAdminAnswer))
		return false, err
	}
	_, err = bodyOf(resp)
	return err == nil, err
}
