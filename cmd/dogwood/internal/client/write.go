package client

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

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
	return c.CallWrite(e, r, io.Discard)
}

// CallWrite is Call for a write. It says on standard error if definitions corrected the write, or are
// built because of it.
func (c *Client) CallWrite(e *console.Env, r *http.Request, w io.Writer) error {
	header, err := c.call(r, w)
	if n, bad := strconv.Atoi(header.Get("X-Dogwood-Kept")); err == nil && bad == nil && n > 0 {
		kept := "1 place is kept by a definition"
		if n > 1 {
			kept = fmt.Sprintf("%d places are kept by definitions", n)
		}
		fmt.Fprintln(e.Stderr, kept+"; the write was corrected. See dogwood data explain")
	}
	if names := header.Get("X-Dogwood-Building"); err == nil && names != "" {
		fmt.Fprintf(e.Stderr, "Not ready: %s. Until then their places may lack something. See dogwood data status\n", console.Printable(names))
	}
	return err
}
