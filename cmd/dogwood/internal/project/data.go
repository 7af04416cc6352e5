package project

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
)

// ParseData parses the text of a data document. The error shows what is wrong where.
func ParseData(file, text string) (*derive.Document, error) {
	d, err := derive.Parse(text)
	var errs derive.Errors
	if errors.As(err, &errs) {
		return nil, DrawErrors(file, text, Shown(errs))
	}
	return d, err
}

// Shown returns errors of a data document in the form in which those of rules are shown.
func Shown(errs derive.Errors) (list rules.Errors) {
	for _, err := range errs {
		list = append(list, &rules.SyntaxError{Pos: rules.Pos(err.Pos), Msg: err.Msg})
	}
	return list
}

// A DataSet is the data documents that a server begins with, as files say.
type DataSet struct {
	All   *derive.Document            // of databases that are not in Of; nil if the files say nothing
	Of    map[string]*derive.Document // by namespace
	files RulesSet                    // that were read
}

// Unchanged reports whether the files are as they were.
func (s *DataSet) Unchanged() bool { return s.files.Unchanged() }

// LoadData reads a data document, or those that a firebase.json names. The set says
// which files were read even if there is an error.
func LoadData(file string) (*DataSet, error) {
	s := &DataSet{Of: make(map[string]*derive.Document)}
	targets := []Target{{Data: file}}
	if IsConfig(file) {
		var err error
		if targets, err = s.files.Targets(file); err != nil {
			return s, err
		}
	}
	for _, t := range targets {
		if t.Data == "" {
			continue
		}
		d, err := s.load(t.Data)
		if err != nil {
			return s, err
		}
		if len(t.Namespaces) == 0 {
			s.All = d
		}
		for _, ns := range t.Namespaces {
			s.Of[ns] = d
		}
	}
	return s, nil
}

func (s *DataSet) load(file string) (*derive.Document, error) {
	text, err := s.files.read(file)
	if err != nil {
		return nil, fmt.Errorf("data document: %w", err)
	}
	return ParseData(file, text)
}

// NamesData reports whether a file is a firebase.json that names a data document.
func NamesData(file string) bool {
	if !IsConfig(file) {
		return false
	}
	targets, _ := new(RulesSet).Targets(file) // errors are told where the rules are read
	return slices.ContainsFunc(targets, func(t Target) bool { return t.Data != "" })
}

// FindData returns the data document of the working directory, or the firebase.json there that
// names it, "" if there is none.
func FindData() string {
	const config, document = "firebase.json", "database.data.json"
	if _, err := os.Stat(config); err == nil && NamesData(config) {
		return config
	}
	if _, err := os.Stat(document); err != nil {
		return ""
	}
	return document
}
