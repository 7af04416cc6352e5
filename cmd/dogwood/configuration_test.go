package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// TestConfigurationDocs: docs/configuration.md has every flag of serve with its variable, its
// key in the configuration file, its default and its help.
func TestConfigurationDocs(t *testing.T) {
	const file, begin, end = "../../docs/configuration.md", "<!-- begin: settings -->\n", "<!-- end: settings -->\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	is, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no section of settings", file)
	}
	want := settingsTable(t, "serve")
	if *rewrite {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if is != want {
		t.Errorf("%s differs from the flags: go test ./cmd/dogwood -run TestConfigurationDocs -rewrite writes it; it should have\n%s", file, want)
	}
}

func settingsTable(t *testing.T, name string) string {
	t.Helper()
	parser, err := kong.New(&commands{}, kong.Name("dogwood"), kong.DefaultEnvars(console.EnvPrefix), kong.Vars{"version": ""}, kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == name })
	var b strings.Builder
	groups := []string{""}
	for _, flag := range parser.Model.Children[i].Flags {
		if g := groupOf(flag); !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	for _, group := range groups {
		fmt.Fprintf(&b, "\n### %s\n\n| flag, key | variable | default | |\n|---|---|---|---|\n", strings.TrimPrefix(group+" ", " ")+map[bool]string{true: "General"}[group == ""])
		for _, flag := range parser.Model.Children[i].Flags {
			if flag.Hidden || flag.Name == "help" || groupOf(flag) != group {
				continue
			}
			fmt.Fprintf(&b, "| `--%s` | %s | %s | %s |\n", shown(flag), inCode(strings.Join(flag.Envs, ", ")), inCode(flag.Default), cell(flag.Help))
		}
	}
	return b.String() + "\n"
}

func groupOf(flag *kong.Flag) string {
	if flag.Group == nil {
		return ""
	}
	return flag.Group.Title
}

func shown(flag *kong.Flag) string {
	if flag.IsBool() {
		return flag.Name
	}
	return flag.Name + "=" + cell(flag.FormatPlaceHolder())
}

func inCode(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
