//go:build !linux

package realtime

// canPark is false: each socket has a goroutine.
const canPark = false

type parking struct{}

func (*parking) watch(*socket) bool { return false }

func (*parking) unwatch(*socket) {}

func (*parking) forget(*socket) {}

func (*parking) close() {}
