package space

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// An Amount is how much of a disk is to stay free. The zero value is nothing. If it has both
// fields, the smaller one counts; only Auto has both. It is comparable, and a flag of the command
// line.
type Amount struct {
	Bytes   int64
	Percent float64 // of the size of the disk
}

// Auto is what "auto" means, the default of the command line. The zero Amount keeps nothing. The write-ahead log keeps 64 MiB for its
// readers, the commits that are not in the files yet take as much, and a fast disk takes some
// 100 MiB between two looks. A small disk is not to be filled by what is kept free.
var Auto = Amount{Bytes: 256 << 20, Percent: 2}

// units are tried in this order. A suffix comes before those that it ends with, so that 5MiB is not
// read as 5Mi bytes. A letter alone is a power of two.
var units = []struct {
	suffix string
	bytes  float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40}, {"b", 1}, {"", 1},
}

// UnmarshalText reads auto, a number of bytes with a unit such as 512MiB, or a part of the disk
// such as 5%. 0 is nothing.
func (a *Amount) UnmarshalText(text []byte) error {
	s := strings.ToLower(strings.ReplaceAll(string(text), " ", ""))
	if s == "auto" {
		*a = Auto
		return nil
	}
	if percent, ok := strings.CutSuffix(s, "%"); ok {
		n, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(n >= 0 && n <= 90) {
			return errors.New("a part of the disk must be between 0% and 90%")
		}
		*a = Amount{Percent: n}
		return nil
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if err == nil && n >= 0 && n*u.bytes <= 1<<60 {
			*a = Amount{Bytes: int64(n * u.bytes)}
			return nil
		}
		break
	}
	return fmt.Errorf("%q: must be auto, bytes such as 512MiB or 2GB, a part of the disk such as 5%%, or 0 for nothing", text)
}

// MarshalText returns what UnmarshalText reads.
func (a Amount) MarshalText() ([]byte, error) {
	switch {
	case a == Auto:
		return []byte("auto"), nil
	case a.Percent > 0:
		return fmt.Appendf(nil, "%g%%", a.Percent), nil
	}
	return fmt.Appendf(nil, "%d", a.Bytes), nil
}

// Of returns the bytes that are to stay free on a disk of a size in bytes: of Auto, 2% of a disk of
// less than 12.5 GiB and 256 MiB of a larger one.
func (a Amount) Of(size int64) int64 {
	part := int64(float64(size) / 100 * a.Percent)
	switch {
	case a.Percent == 0:
		return a.Bytes
	case a.Bytes == 0:
		return part
	}
	return min(part, a.Bytes)
}
