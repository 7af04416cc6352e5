//go:build !linux && !darwin && !freebsd && !windows

package space

func stat(string) (Stat, error) { return Stat{}, errUnsupported }
