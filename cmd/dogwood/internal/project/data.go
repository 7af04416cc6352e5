package project

import (
	"errors"

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
