//go:build !linux

package wal

func (f osFile) writeSync(b []byte, at int64) error {
	if _, err := f.WriteAt(b, at); err != nil {
		return err
	}
	return f.Sync()
}
