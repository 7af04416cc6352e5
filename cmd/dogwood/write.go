package main

import (
	"io"
	"net/url"
)

// triggerFlags keep scripts for firebase database:* running.
type triggerFlags struct {
	DisableTriggers bool `hidden:"" help:"Do not run functions that listen for the change, where there are any."`
}

func (f *triggerFlags) values() url.Values {
	q := url.Values{}
	if f.DisableTriggers {
		q.Set("disableTriggers", "true")
	}
	return q
}

// write sends data without having them echoed.
func (c *client) write(e *env, method, path string, query url.Values, p *payload) error {
	query.Set("print", "silent")
	r, err := c.request(e.ctx, method, path, query, p)
	if err != nil {
		return err
	}
	return c.call(r, io.Discard)
}
