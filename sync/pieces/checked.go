package pieces

import "io"

// A Checked is a reader of a long text that ends when something says so.
type Checked struct {
	io.Reader
	Check func() error // asked before each part that is read
}

func (r Checked) Read(p []byte) (int, error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
