package client

import (
	"io"
	"net/url"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// TriggerFlags keep scripts for firebase database:* running.
type TriggerFlags struct {
	DisableTriggers bool `hidden:"" help:"Do not run functions that listen for the change, where there are any."`
}

// Values returns the parameters of the request.
func (f *TriggerFlags) Values() url.Values {
	q := url.Values{}
	if f.DisableTriggers {
		q.Set("disableTriggers", "true")
	}
	return q
}

// Write sends data without having them echoed.
func (c *Client) Write(e *console.Env, method, path string, query url.Values, p *payload) error {
	query.Set("print", "silent")
	r, err := c.Request(e.Ctx, method, path, query, p)
	if err != nil {
		return err
	}
	return c.Call(r, io.Discard)
}
