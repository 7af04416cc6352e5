package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Print is a flag that prints the settings of the command, in the form of a configuration file,
// and ends the program.
type Print bool

// AfterApply is called by kong when all flags have their values.
func (Print) AfterApply(app *kong.Kong, k *kong.Context) error {
	print(app.Stdout, k)
	app.Exit(0)
	return nil
}

func print(w io.Writer, k *kong.Context) {
	fmt.Fprintln(w, "{")
	for _, flag := range k.Selected().Flags {
		if flag.Hidden || isAbout(flag) {
			continue
		}
		text, source := textOf(reflect.ValueOf(k.FlagValue(flag))), sourceOf(k, flag)
		if text == "" {
			fmt.Fprintf(w, "  // %q: not given\n", flag.Name)
			continue
		}
		fmt.Fprintf(w, "  %q: %s, // %s\n", flag.Name, text, source)
	}
	fmt.Fprintln(w, "}")
}

// sourceOf returns where the value of a flag comes from.
func sourceOf(k *kong.Context, flag *kong.Flag) string {
	i := slices.IndexFunc(k.Path, func(p *kong.Path) bool { return p.Flag == flag })
	switch {
	case i >= 0 && !k.Path[i].Resolved:
		return "command line"
	case inEnvironment(flag):
		return "environment"
	case i >= 0:
		return "file"
	}
	return "default"
}

// textOf returns a value as JSON, "" if there is none. Passwords in addresses are left out.
func textOf(v reflect.Value) string {
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return ""
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	var shown any
	switch is := v.Interface().(type) {
	case time.Duration:
		shown = is.String()
	case encoding.TextMarshaler:
		text, err := is.MarshalText()
		if err != nil {
			return ""
		}
		shown = string(text)
	case []string:
		if len(is) == 0 {
			return ""
		}
		list := []string{}
		for _, text := range is {
			list = append(list, redacted(text))
		}
		shown = list
	case string:
		if is == "" {
			return ""
		}
		shown = redacted(is)
	default:
		shown = is
	}
	text, err := json.Marshal(shown)
	if err != nil {
		return ""
	}
	return string(text)
}

// redacted returns an address without its password.
func redacted(text string) string {
	if u, err := url.Parse(text); err == nil && strings.Contains(text, "://") && u.User != nil {
		return u.Redacted()
	}
	return text
}
