package console

// Sure are the flags with which a command does not ask before something is lost. They mean
// the same.
type Sure struct {
	Yes   bool `short:"y" help:"Do not ask for confirmation; -f and --force are other names." env:"-"`
	Force bool `short:"f" hidden:"" env:"-"`
}

// IsSure reports whether one of them was given.
func (s Sure) IsSure() bool { return s.Yes || s.Force }
