//go:build !unix

package bench

func (s *source) poll() bool { return false }

func (s *source) readNow(p []byte) (int, error) { return s.net.Read(p) }
