//go:build !unix

package connect

func (s *source) poll() bool { return false }

func (s *source) readNow(p []byte) (int, error) { return s.net.Read(p) }
