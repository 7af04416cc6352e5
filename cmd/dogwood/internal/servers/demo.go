package servers

import (
	"net"
	"net/url"

	"github.com/dogwooddb/dogwood/demo"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server"
)

// demonstrate has a server with a sample show the demonstration. Its page uses a
// database of the sample's name, which has the rules of the sample unless --rules was
// given. All other databases stay as open as they are without a sample.
func (c *Dev) demonstrate(o *server.Options) error {
	if c.Sample == "" {
		return nil
	}
	d, err := demo.New(demo.Options{Sample: c.Sample, Namespace: c.Sample})
	if err != nil {
		return err
	}
	o.Demo, o.Decisions.Hear = d, d.Hear
	o.Decisions.Tell = true // it is what the page shows
	if c.Rules != "" && !c.found {
		return nil
	}
	r, err := sampleRules(c.Sample)
	c.sampleRules = map[string]*rules.Ruleset{c.Sample: r}
	return err
}

// demoURL returns the address of the demonstration. It has the name of a loopback address,
// which is easier to read in a browser.
func demoURL(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base + "/demo/"
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsLoopback() {
		u.Host = net.JoinHostPort("localhost", u.Port())
	}
	return u.JoinPath("demo/").String()
}
