//go:build !linux

package disk

func (f osFile) punch(int64, int64) error { return nil }

func (f osFile) WriteSync(b []byte, at int64) error {
	if _, err := f.WriteAt(b, at); err != nil {
		return err
	}
	return f.Sync()
}
